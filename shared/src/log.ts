import { type Logger, pino } from 'pino'

export type Log = Logger

const SECRET_KEYS = [
  'authorization',
  'cookie',
  'password',
  'passwordHash',
  'salt',
  'token',
  'accessToken',
  'refreshToken',
  'appSecret',
  'verifyToken',
  'signingSecrets',
  'apiKey',
  'credentials',
  'clientSecret',
  'secret',
]

/** JSON lines on standard output; values under well-known secret keys are replaced, two levels deep. */
export function createLog(options: { service: string; level: string }): Log {
  return pino({
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: '••••' },
  })
}
