// Serves RCON with the npm package rcon-server.
// usage: node rcon-server.mjs HOST PORT PASSWORD
// NODE_MODULES names the folder that the package is in.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [host, port, password] = process.argv.slice(2)
const { RCONServer } = createRequire(join(process.env.NODE_MODULES, 'here.js'))('rcon-server')
const server = new RCONServer({ host, port: Number(port), password, clientLimit: 4 })
server.on('commandRequest', (d) => d.resolve(`there are 2 of a max of 20 players online: ${d.body}`))
server.on('listening', () => console.log('ready'))
server.connect()
