// node's crypto: prints what every operation gives, one line each. Run twice, with the provider and
// without, the lines must be the same.
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

const LENGTHS = [0, 1, 15, 16, 17, 255, 256, 4096, 65537, 1 << 20];

function noise(label, length) {
  return crypto.createHash('shake128', { outputLength: length }).update(label).digest();
}

function sha256(data) {
  return crypto.createHash('sha256').update(data).digest('hex');
}

function pieces(cipher, data, step) {
  const parts = [];
  for (let at = 0; at < data.length; at += step) parts.push(cipher.update(data.subarray(at, at + step)));
  parts.push(cipher.final());
  return Buffer.concat(parts);
}

function all(lengths) {
  const lines = [];
  for (const bits of [128, 192, 256]) {
    const key = noise('key', bits / 8);
    for (const length of lengths) {
      const data = noise('data', length);
      for (const mode of ['ctr', 'cbc']) {
        const name = `aes-${bits}-${mode}`;
        const iv = noise('iv', 16);
        const sealed = pieces(crypto.createCipheriv(name, key, iv), data, 10000);
        assert(pieces(crypto.createDecipheriv(name, key, iv), sealed, 7777).equals(data), name);
        lines.push(`${name} ${length} ${sha256(sealed)}`);
      }
    }
  }
  for (const name of ['aes-128-gcm', 'aes-192-gcm', 'aes-256-gcm', 'chacha20-poly1305']) {
    const key = noise('key', name.startsWith('aes') ? Number(name.slice(4, 7)) / 8 : 32);
    for (const length of lengths) {
      const [nonce, aad, data] = [noise('nonce', 12), noise('aad', 20), noise('data', length)];
      const options = { authTagLength: 16 };
      const cipher = crypto.createCipheriv(name, key, nonce, options).setAAD(aad, { plaintextLength: length });
      const sealed = pieces(cipher, data, 10000);
      const tag = cipher.getAuthTag();
      const open = (tag) => {
        const decipher = crypto.createDecipheriv(name, key, nonce, options);
        decipher.setAAD(aad, { plaintextLength: length }).setAuthTag(tag);
        return pieces(decipher, sealed, 7777);
      };
      assert(open(tag).equals(data), name);
      const wrong = Buffer.from(tag);
      wrong[0] ^= 1;
      let said = 'nothing';
      try { open(wrong); } catch (error) { said = error.message; }
      lines.push(`${name} ${length} ${sha256(sealed)} ${tag.toString('hex')} ${said}`);
    }
  }
  for (const data of [noise('data', 15), noise('data', 32)]) {
    const broken = crypto.createDecipheriv('aes-128-cbc', noise('key', 16), noise('iv', 16));
    let said = 'nothing';
    try { pieces(broken, data, 100); } catch (error) { said = `${error.code} ${error.message}`; }
    lines.push(`broken ${data.length} ${said}`);
  }
  return lines;
}

async function webcrypto() {
  const { subtle } = crypto.webcrypto;
  const lines = [];
  for (const name of ['AES-GCM', 'AES-CBC', 'AES-CTR']) {
    const key = await subtle.importKey('raw', noise('key', 32), name, false, ['encrypt', 'decrypt']);
    const iv = noise('iv', name === 'AES-GCM' ? 12 : 16);
    const algorithm = name === 'AES-CTR' ? { name, counter: iv, length: 64 } : { name, iv };
    // Computed on node's own threads, several at once.
    const sealed = await Promise.all([1, 2, 3, 4].map(() => subtle.encrypt(algorithm, key, noise('data', 1 << 20))));
    for (const one of sealed) {
      assert(Buffer.from(await subtle.decrypt(algorithm, key, one)).equals(noise('data', 1 << 20)));
      lines.push(`${name} ${sha256(Buffer.from(one))}`);
    }
  }
  return lines;
}

async function main() {
  const lines = all(LENGTHS);
  console.log(lines.join('\n'));
  console.log((await webcrypto()).join('\n'));
  const few = LENGTHS.slice(0, 9);
  const expected = all(few).join('\n');
  await Promise.all([1, 2, 3, 4].map(() => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: few });
    worker.on('message', (found) => (found === expected ? resolve() : reject(new Error('a worker differs'))));
    worker.on('error', reject);
  })));
}

if (isMainThread) {
  main().catch((error) => { console.error(error); process.exit(1); });
} else {
  parentPort.postMessage(all(workerData).join('\n'));
}
