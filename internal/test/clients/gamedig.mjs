// Asks one server with gamedig and prints what it returns.
// usage: node gamedig.mjs NODE_MODULES PROTOCOL ADDRESS PORT
// Rules are left out of the text protocol of GoldSource: gamedig 5.3.3 takes the header
// of that reply for the name of the first one.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [modules, protocol, address, port] = process.argv.slice(2)
const { GameDig } = createRequire(join(modules, 'here.js'))('gamedig')

console.log(JSON.stringify(await GameDig.query({
  type: 'protocol-' + protocol,
  address,
  port,
  givenPortOnly: true,
  requestPlayers: true,
  requestRules: protocol === 'valve'
})))
