#!/bin/sh
# A client that sends the players back when it gets them at once.
#
# The good guess: a client asks for players with FF FF FF FF in place of a challenge. Where the server wants none it
# answers with the players, and the client has what it asked for: the first byte of the reply says which of the two it is.
#
# What happens: steam-server-query (npm, 1.1.3) takes whatever comes first for a challenge. It asks again, with all of
# the list after its opcode in place of four bytes, and waits for a second list. Of a server that answers requests
# of any length it returns that one; of a server that answers only requests as long as they should be it returns
# nothing, though the list came.
#
# Why it matters: such a server, which does nothing wrong, looks dead in this client only. And a capture has requests of
# 32 bytes or 1,400 that hold names of players: by length they are no requests at all, and
# they are the client's.
#
# It needs Node.js 20 or newer and a network that has npm packages. Everything is in a folder that is removed in the end,
# and all packets stay on 127.0.0.1. It exits with 1 if the client takes the first list.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund steam-server-query@1.1.3 >/dev/null
cat >ask.js <<'END'
import dgram from 'node:dgram';
import { queryGameServerPlayer } from 'steam-server-query';

// The list of one player: index, name, score, seconds.
const list = Buffer.from('ffffffff' + '44' + '01' + '00' + '416e6e00' + '01000000' + '0000803f', 'hex');
let changed = false;

async function ask(what, answers) {
  const requests = [];
  const server = dgram.createSocket('udp4');
  server.on('message', (m, from) => {
    requests.push(m);
    if (answers(m)) server.send(list, from.port, from.address);
  });
  await new Promise((resolve) => server.bind(0, '127.0.0.1', resolve));
  let result;
  try {
    const { players } = await queryGameServerPlayer(`127.0.0.1:${server.address().port}`, 1, 500);
    result = players.map((p) => p.name).join(', ');
  } catch (e) {
    result = `error: ${e.message}`;
  }
  server.close();
  console.log(`a server that answers ${what}`);
  for (const m of requests) console.log(`  request, ${m.length} bytes: ${m.toString('hex')}`);
  console.log(`  the client has: ${result}`);
  changed ||= requests.length < 2 || !requests[1].includes(list.subarray(5));
  return result;
}

const any = await ask('any request', () => true);
const exact = await ask('requests of 9 bytes', (m) => m.length === 9);
if (changed || any !== 'Ann' || !exact.startsWith('error')) {
  console.log('CHANGED: the client does not send the list back, or has it at once');
  process.exit(1);
}
END
node ask.js
