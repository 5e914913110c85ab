// Asks one server for information, players and rules with an npm package.
// usage: node programs.mjs NODE_MODULES PACKAGE ADDRESS PORT
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [modules, name, address, port] = process.argv.slice(2)
const package_ = createRequire(join(modules, 'here.js'))(name)
const host = `${address}:${port}`

const ask = {
  'steam-server-query': async (q) => {
    await q.queryGameServerInfo(host)
    await q.queryGameServerPlayer(host)
    await q.queryGameServerRules(host)
  },
  'source-server-query': async (q) => {
    await q.info(address, port, 3000)
    await q.players(address, port, 3000)
    await q.rules(address, port, 3000)
    q.close()
  },
  '@fabricio-191/valve-server-query': async ({ Server }) => {
    const server = await Server({ ip: address, port: Number(port), timeout: 5000 })
    await server.getInfo()
    await server.getPlayers()
    await server.getRules()
    server.disconnect()
  }
}
await ask[name](package_.default ?? package_)
process.exit(0) // one of them waits on for what came
