/**
 * Keys of free-form objects that are kept as they are. None ends with a backslash: once V8 14.6 has read such a key, it
 * reads another one in the same place that goes on with an escape, such as `"\n"`, as the first (nodejs/node#63785).
 */
export const KEPT_KEYS: readonly string[] = [
  ...[
    '_bsontype',
    'toBSON',
    '$ref',
    '$id',
    '$db',
    '$oid',
    '$date',
    '$numberLong',
    '~$ref',
    '~__proto__',
    '~~',
  ],
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    '__defineGetter__',
    'then',
    'toJSON',
  ],
  ...[
    '$where',
    '$set',
    '$ne',
    '$',
    'a.b',
    '.',
    '..',
    'a.',
    '.a',
    '',
    ' ',
    '0',
    '-1',
    '1e3',
    '_id',
    '__v',
    'length',
  ],
  ...['é', 'e\u0301', '\u200b', '\u202e', '👍', 'k'.repeat(300), '/', '~', '~0', '~1', '%', '"', '\n'],
]

export const REFUSED_KEYS: readonly string[] = ['\u0000', 'a\u0000', '\u0000b', '\ud800', 'a\udc00']
