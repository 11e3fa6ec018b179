import { describe, expect, test } from '@jest/globals'
import { mongo } from 'mongoose'
import { Problem } from '../src/problem.ts'
import { isUnavailable } from '../src/unavailable.ts'

const withLabel = (label: string) => {
  const error = new mongo.MongoServerError({ message: 'm', code: 1 })
  error.addErrorLabel(label)
  return error
}
const writeConcern = (code: number) =>
  new mongo.MongoWriteConcernError({ ok: 1, writeConcernError: { code, errmsg: 'm' } } as never)
const bulkWrite = (codes: number[], concern?: object) => {
  const writeErrors = codes.map((code, index) => ({ code, index, errmsg: 'm' }))
  const error = new mongo.MongoBulkWriteError({ message: 'm', code: codes[0] } as never, {} as never)
  return Object.assign(error, { writeErrors, result: { getWriteConcernError: () => concern } })
}
const socket = (code: string) => Object.assign(new Error('m'), { code })

describe('a server that we depend on is unavailable', () => {
  test.each([
    ...[6, 7, 43, 50, 64, 89, 91, 100, 133, 134, 189, 237, 239, 246, 262, 317, 9001, 10058, 10107],
    ...[11600, 11601, 11602, 13435, 13436],
  ])('when MongoDB answers with code %i, alone or in a write concern or a bulk write', (code) => {
    expect(isUnavailable(new mongo.MongoServerError({ message: 'm', code }))).toBe(true)
    expect(isUnavailable(writeConcern(code))).toBe(true)
    expect(isUnavailable(bulkWrite([code]))).toBe(true)
    expect(isUnavailable(bulkWrite([11_000, code]))).toBe(true)
  })

  test.each([
    ['the connection breaks', new mongo.MongoNetworkError('m')],
    ['the connection is slow', new mongo.MongoNetworkTimeoutError('m')],
    ['no primary is found', new mongo.MongoServerSelectionError('m', {} as never)],
    ['a write may be tried again', withLabel('RetryableWriteError')],
    ['a transaction may be tried again', withLabel('TransientTransactionError')],
    ['a bulk write says nothing of single documents', bulkWrite([])],
    ['a bulk write is not confirmed by a majority', bulkWrite([11_000], { code: 64 })],
    ['a socket is reset', socket('ECONNRESET')],
    ['another service says so', new Problem('unavailable')],
  ])('when %s', (_case, error) => expect(isUnavailable(error)).toBe(true))

  test.each([
    ['a duplicate key', new mongo.MongoServerError({ message: 'm', code: 11_000 })],
    ['a document that is too large', new mongo.MongoServerError({ message: 'm', code: 10_334 })],
    ['duplicate keys of a bulk write', bulkWrite([11_000, 11_000])],
    ['an error in our code', new TypeError('m')],
    ['what is wrong with a request', new Problem('malformed_body')],
    ['what is no error', { code: 11_602 }],
  ])('but not by %s', (_case, error) => expect(isUnavailable(error)).toBe(false))
})
