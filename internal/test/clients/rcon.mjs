// Logs in with rcon-client, sends commands, and prints what each returned and every
// packet that came.
// usage: node rcon.mjs NODE_MODULES ADDRESS PORT PASSWORD [COMMAND...]
// An empty COMMAND is the packet with which clients find the end of a long answer.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [modules, host, port, password, ...commands] = process.argv.slice(2)
const require = createRequire(join(modules, 'here.js'))
const { Rcon } = require('rcon-client')
const { decodePacket, PacketType } = require('rcon-client/lib/packet')

const packets = []
class Recorder extends Rcon {
  handlePacket (data) {
    const { id, type, payload } = decodePacket(data)
    packets.push({ id, type, body: payload.toString() })
    super.handlePacket(data)
  }
}

const rcon = new Recorder({ host, port: Number(port), password })
const answers = []
let error = ''
try {
  await rcon.connect()
  for (const command of commands) {
    if (command === '') {
      const answer = await rcon.sendPacket(PacketType.CommandResponse, Buffer.alloc(0))
      answers.push(answer.payload.toString())
    } else {
      answers.push(await rcon.send(command))
    }
  }
  await rcon.end()
} catch (e) {
  error = e.message
}
console.log(JSON.stringify({ answers, packets, error }))
