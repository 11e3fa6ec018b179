import { gzipSync } from 'node:zlib'
import type { Header } from '../fuzz-case.ts'

const BOMB_BYTES = 24 * 1024 * 1024

interface FramedContent {
  type?: string
  encoding?: string
  body?: string
  more?: readonly Header[]
}
const latin = (bytes: Buffer) => bytes.toString('latin1')
/** Bodies whose headers say something else than what they are. */
export const CONTENTS: readonly FramedContent[] = [
  ...[
    '',
    'x',
    '/',
    'text/plain',
    'text/html',
    'application/xml',
    'application/x-www-form-urlencoded',
    'application/octet-stream',
  ],
  ...[
    'multipart/form-data; boundary=x',
    'multipart/form-data',
    'application/JSON',
    'application/json;',
    'application/json; charset=',
  ],
  ...[
    'application/json; charset=utf-16',
    'application/json; charset=utf-7',
    'application/json; charset="UTF-8"',
    'application/json;charset=x',
  ],
  ...[
    'application/json, text/plain',
    'application/problem+json',
    'application/merge-patch+json',
    'application/json-patch+json',
  ],
  ...[
    'application/json; charset=utf-8; charset=latin1',
    'application/json; x="',
    'é',
    'application/*',
    '*/*',
    `a/${'b'.repeat(4_000)}`,
  ],
].map((each): FramedContent => (typeof each === 'string' ? { type: each } : each))
export const ENCODINGS: readonly FramedContent[] = [
  ...['gzip', 'deflate', 'br', 'zstd', 'identity', 'GZIP', 'gzip, gzip', 'x', '', 'compress', 'chunked'].map(
    (encoding) => ({ encoding }),
  ),
  { encoding: 'gzip', body: latin(gzipSync('{}')) },
  { encoding: 'gzip', body: latin(gzipSync('{}')).slice(0, -4) },
  { encoding: 'gzip', body: latin(gzipSync('['.repeat(1_000_000))) },
  { encoding: 'gzip', body: latin(gzipSync(Buffer.alloc(BOMB_BYTES, 0x20))) },
]
/** Bodies whose end two readers would find in two places. */
export const FRAMINGS: readonly {
  more: readonly Header[]
  expectedStatuses?: readonly number[]
  body?: string
}[] = [
  {
    more: [
      ['content-length', '{{length}}'],
      ['content-length', '0'],
    ],
    expectedStatuses: [400],
  },
  {
    more: [
      ['content-length', '{{length}}'],
      ['transfer-encoding', 'chunked'],
    ],
    expectedStatuses: [400],
  },
  {
    more: [
      ['transfer-encoding', 'chunked'],
      ['content-length', '4'],
    ],
    expectedStatuses: [400],
  },
  ...['-1', '+1', '1e1', '0x1', '1,1', '1 1', 'x', '', '99999999999999999999'].map((value) => ({
    more: [['content-length', value]] as const,
  })),
  ...['xchunked', 'chunked, gzip', 'chunked, chunked', 'identity', '\u000bchunked', 'chunked;x'].map(
    (value) => ({
      more: [['transfer-encoding', value]] as const,
      body: '0\r\n\r\n',
    }),
  ),
  { more: [['transfer-encoding', 'chunked']], body: '2\r\n{}\r\n0\r\n\r\n' },
  { more: [['Transfer-Encoding', 'Chunked']], body: '2;x=1\r\n{}\r\n0\r\nauthorization: x\r\n\r\n' },
  { more: [['transfer-encoding', 'chunked']], body: `1;${'x'.repeat(20_000)}\r\n{\r\n0\r\n\r\n` },
  { more: [['transfer-encoding', 'chunked']], body: 'x\r\n{}\r\n0\r\n\r\n' },
  { more: [['transfer-encoding', 'chunked']], body: '-2\r\n{}\r\n0\r\n\r\n' },
  { more: [['transfer-encoding', 'chunked']], body: 'ffffffffffffffff1\r\n{}\r\n0\r\n\r\n' },
  {
    more: [
      ['transfer_encoding', 'chunked'],
      ['content_length', '1'],
      ['content-length', '{{length}}'],
    ],
  },
]
