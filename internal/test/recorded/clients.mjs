// Asks a server with an npm package, and prints as JSON what the package returned.
// usage: node clients.mjs PACKAGE HOST PORT [ARGUMENT...]
// Query packages are asked for information, players and rules; an ARGUMENT names the only one of these that is
// wanted, or, for gamedig, the protocol. RCON packages log in with the first ARGUMENT and run the others.
// NODE_MODULES names the folder that the packages are in.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [name, host, portText, ...args] = process.argv.slice(2)
const port = Number(portText)
const at = `${host}:${port}`
const require = createRequire(join(process.env.NODE_MODULES, 'here.js'))
const load = async (name) => {
  const module = await import(require.resolve(name))
  return module.default ?? module
}

// wanted runs those of the questions that are asked for, and keeps an error as its text.
const wanted = async (questions) => {
  const out = {}
  for (const [what, ask] of Object.entries(questions)) {
    if (args.length > 0 && !args.includes(what)) continue
    out[what] = await ask().catch((e) => ({ error: String(e.message ?? e) }))
  }
  return out
}

// promised makes a promise of a function that takes a callback (error, result).
const promised = (f) => new Promise((resolve, reject) => f((error, result) => error ? reject(error) : resolve(result)))

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const programs = {
  async gamedig () {
    const { GameDig } = await load('gamedig')
    const [protocol, ...what] = args
    return GameDig.query({
      type: 'protocol-' + protocol,
      address: host,
      port,
      givenPortOnly: true,
      requestPlayers: what.includes('players'),
      requestRules: what.includes('rules')
    })
  },
  async 'steam-server-query' () {
    const q = require('steam-server-query')
    if (args[0] === 'master') {
      const filter = { appid: 730, nor: { password: 0, map: 'de_dust2' } }
      return { servers: await q.queryMasterServer(at, q.REGIONS.ALL, filter, 3000) }
    }
    return wanted({
      info: () => q.queryGameServerInfo(at, 1, 3000),
      players: () => q.queryGameServerPlayer(at, 1, 3000),
      rules: () => q.queryGameServerRules(at, 1, 3000)
    })
  },
  async 'source-server-query' () {
    const q = await load('source-server-query')
    return wanted({
      info: () => q.info(host, port, 3000),
      players: () => q.players(host, port, 3000),
      rules: () => q.rules(host, port, 3000)
    })
  },
  async '@fabricio-191/valve-server-query' () {
    const { Server, MasterServer } = require('@fabricio-191/valve-server-query')
    if (args[0] === 'master') {
      const filter = new MasterServer.Filter().add('appid', 730).addFlag('dedicated')
      return { servers: await MasterServer({ ip: host, port, quantity: 1000, timeout: 3000, region: 'OTHER', filter }) }
    }
    const server = await Server({ ip: host, port, timeout: 3000 })
    return wanted({
      info: () => server.getInfo(),
      players: () => server.getPlayers(),
      rules: () => server.getRules()
    })
  },
  async sourcequery () {
    const q = new (require('sourcequery'))(2000)
    q.open(host, port)
    return wanted({
      info: () => promised((done) => q.getInfo(done)),
      players: () => promised((done) => q.getPlayers(done)),
      rules: () => promised((done) => q.getRules(done))
    })
  },
  async 'srcds-info' () {
    const q = require('srcds-info')(host, port, { timeout: 2000 })
    return { info: await new Promise((resolve, reject) => {
      q.info((error, info) => error ? reject(error) : resolve(info))
    }) }
  },
  async 'srcds-a2s' () {
    return { info: await require('srcds-a2s').info(host, port) }
  },

  async 'rcon-client' () {
    const { Rcon } = require('rcon-client')
    const rcon = await Rcon.connect({ host, port, password: args[0] })
    const answers = await each((command) => rcon.send(command))
    await rcon.end()
    return answers
  },
  async 'rcon-srcds' () {
    const { default: Rcon } = require('rcon-srcds')
    const rcon = new Rcon({ host, port, timeout: 5000 })
    await rcon.authenticate(args[0])
    const answers = await each((command) => rcon.execute(command))
    await rcon.disconnect()
    return answers
  },
  async rcon () {
    const udp = args[0] === 'udp'
    if (udp) args.shift()
    const rcon = new (require('rcon'))(host, port, args[0], { tcp: !udp })
    const next = (event) => new Promise((resolve, reject) => {
      rcon.once(event, resolve)
      rcon.once('error', reject)
    })
    rcon.connect()
    await next('auth')
    const answers = await each((command) => {
      const answer = next('response')
      rcon.send(command)
      return answer
    })
    rcon.disconnect()
    return answers
  },
  async 'dathost-rcon-client' () {
    const { Rcon } = await import(require.resolve('dathost-rcon-client'))
    const rcon = new Rcon({ host, port, password: args[0] })
    await rcon.connect()
    const answers = await each((command) => rcon.send(command))
    rcon.disconnect()
    return answers
  },
  async 'minecraft-server-util' () {
    const { RCON } = require('minecraft-server-util')
    const rcon = new RCON()
    await rcon.connect(host, port)
    await rcon.login(args[0])
    const answers = await each((command) => rcon.execute(command))
    rcon.close()
    return answers
  },
  async 'simple-rcon' () {
    const Rcon = require('simple-rcon')
    const rcon = new Rcon({ host, port, password: args[0], timeout: 3000 })
    const closed = new Promise((resolve) => rcon.on('disconnected', resolve))
    const ready = new Promise((resolve, reject) => {
      rcon.on('authenticated', resolve)
      rcon.on('error', reject)
    })
    rcon.connect()
    await ready
    const answers = await each((command) => new Promise((resolve) => rcon.exec(command, (r) => resolve(r.body ?? r))))
    rcon.close()
    await closed
    return answers
  },
  async sourcecon () {
    const rcon = new (require('sourcecon'))(host, port)
    await promised((done) => rcon.connect(done))
    await promised((done) => rcon.auth(args[0], done))
    const answers = await each((command) => promised((done) => rcon.send(command, done)).then(String))
    rcon.disconnect()
    return answers
  }
}

// each runs the commands one after the other.
async function each (run) {
  const answers = []
  for (const command of args.slice(1)) answers.push(await run(command))
  return { answers }
}

let printed
try {
  printed = await programs[name]()
} catch (e) {
  printed = { error: String(e.message ?? e) }
}
console.log(JSON.stringify(printed, (_, v) => typeof v === 'bigint' ? String(v) : v, 1))
await pause(100) // for the packets with which connections end
process.exit(0) // some wait on for what came
