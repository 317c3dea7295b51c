// An https server of two forked processes (cluster), and a client of node's own.
'use strict';
const assert = require('assert');
const cluster = require('cluster');
const crypto = require('crypto');
const fs = require('fs');
const https = require('https');

const [certificate, key] = process.argv.slice(2).map((path) => fs.readFileSync(path));
const DATA = crypto.createHash('shake128', { outputLength: 8 << 20 }).update('data').digest();

function serve() {
  https.createServer({ cert: certificate, key, ciphers: 'ALL:@SECLEVEL=0' }, (request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => response.end(Buffer.concat(parts).reverse()));
  }).listen(0, '127.0.0.1', function () { process.send(this.address().port); });
}

function ask(port, options) {
  return new Promise((resolve, reject) => {
    const request = https.request({ host: '127.0.0.1', port, method: 'POST', ca: certificate, agent: false, ...options }, (response) => {
      const parts = [];
      const { name } = response.socket.getCipher();
      response.on('data', (part) => parts.push(part));
      response.on('end', () => {
        assert(Buffer.concat(parts).equals(Buffer.from(DATA).reverse()), name);
        resolve(`${response.socket.getProtocol()} ${name}`);
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(DATA);
  });
}

async function main() {
  const ports = await Promise.all([1, 2].map(() => new Promise((resolve) => cluster.fork().on('message', resolve))));
  for (const options of [
    { minVersion: 'TLSv1.3' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES256-GCM-SHA384' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-CHACHA20-POLY1305' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA:@SECLEVEL=0' },
  ]) {
    const said = await Promise.all([0, 1, 2, 3].map((number) => ask(ports[number % 2], options)));
    console.log(said[0]);
  }
  cluster.disconnect();
  process.exit(0);
}

if (cluster.isPrimary) main().catch((error) => { console.error(error); process.exit(1); });
else serve();
