const DRIVER_ERRORS = new Set([
  'MongoServerSelectionError',
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoNotConnectedError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'PoolClearedOnNetworkError',
  'MongoWaitQueueTimeoutError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoOperationTimeoutError',
  'MongooseServerSelectionError',
  'MaxRetriesPerRequestError',
])

/** Codes of a socket whose other end has gone; drivers let them through when it happens in the middle of a write. */
const SOCKET_ERRORS = new Set([
  'EPIPE',
  'ECONNRESET',
  'ECONNREFUSED',
  'ETIMEDOUT',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
])

/**
 * MongoDB's codes of an election, a shutdown, an interruption, a lost connection between its members, and of a write
 * that was not confirmed by a majority (`src/mongo/base/error_codes.yml`: RetriableError, NotPrimaryError,
 * ShutdownError, NetworkError; 64, 91 and 100 are those of write concerns, 50 is a read that took longer than we allow, 239
 * and 246 one of a snapshot that is not there).
 */
const SERVER_CODES = new Set([
  6, 7, 43, 50, 64, 89, 91, 100, 133, 134, 189, 237, 239, 246, 262, 317, 9001, 10058, 10107, 11600, 11601,
  11602, 13435, 13436,
])

const LABELS = ['RetryableWriteError', 'TransientTransactionError']

/** The members that errors of the drivers of MongoDB, Redis and Node's sockets say their cause with. */
interface DriverError extends Error {
  code?: unknown
  errorLabelSet?: Set<string>
  writeErrors?: { code?: unknown } | Array<{ code?: unknown }>
  result?: { getWriteConcernError?(): unknown }
}

/**
 * True when an error says that a server or service we depend on is unavailable, so that the same may succeed when it
 * is tried again. Everything else is an error of ours or of what we were given. The only place that decides this.
 */
export function isUnavailable(error: unknown): boolean {
  if (!Error.isError(error)) return false
  const { name, message, code, errorLabelSet } = error as DriverError
  if (code === 'unavailable' || DRIVER_ERRORS.has(name) || isUnavailableCode(code)) return true
  if (name === 'MongooseError' && message.includes('before initial connection')) return true
  if (name === 'MongoBulkWriteError') return isUnavailableBulkWrite(error as DriverError)
  return LABELS.some((label) => errorLabelSet?.has(label) === true)
}

function isUnavailableCode(code: unknown): boolean {
  return typeof code === 'number' ? SERVER_CODES.has(code) : SOCKET_ERRORS.has(String(code))
}

/** A bulk write that lost its connection says nothing of single documents. */
function isUnavailableBulkWrite({ writeErrors, result }: DriverError): boolean {
  const failures = [writeErrors ?? []].flat()
  if (failures.length === 0 || failures.some(({ code }) => isUnavailableCode(code))) return true
  return result?.getWriteConcernError?.() !== undefined
}
