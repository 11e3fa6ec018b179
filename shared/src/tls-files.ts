import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { wrongConfig } from './config.ts'
import { every } from './every.ts'
import type { Log } from './log.ts'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const FOLLOW_MS = 30_000
/** The least version of every connection over TLS. */
export const MIN_VERSION = 'TLSv1.2'

/** A certificate with those that lead to its CA, and its private key, in PEM. */
interface Certificate {
  cert: string
  key: string
}

/** Reads a certificate and its key. Rejects with the setting whose file can't be read, has none, or does not fit. */
export async function readCertificate(files: { cert: string; key: string }): Promise<Certificate> {
  const [cert, key] = await Promise.all([
    readCertificates('TLS_CERT_FILE', files.cert),
    readText('TLS_KEY_FILE', files.key),
  ])
  const [own = ''] = cert
  if (!new X509Certificate(own).checkPrivateKey(privateKeyOf(key)))
    throw new Error('TLS_KEY_FILE: is not the key of the certificate in TLS_CERT_FILE')
  const certificate = { cert: cert.join('\n'), key }
  try {
    createSecureContext(certificate)
  } catch (error) {
    throw new Error(`TLS_CERT_FILE: can not be served with (${(error as Error).message})`)
  }
  return certificate
}

/** Reads the certificates in PEM, at least one, in the file of a setting. Rejects with the setting and what is wrong. */
export async function readCertificates(setting: string, file: string): Promise<string[]> {
  const [, ...texts] = (await readText(setting, file)).split(BEGIN)
  const certificates = texts.map((text) => BEGIN + text)
  try {
    for (const each of certificates) new X509Certificate(each)
  } catch {
    throw new Error(`${setting}: has a certificate that can not be read`)
  }
  if (certificates.length === 0) throw new Error(`${setting}: has no certificate in PEM`)
  return certificates
}

async function readText(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Error(`${setting}: can not be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function privateKeyOf(text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch {
    throw new Error('TLS_KEY_FILE: has no private key in PEM without a passphrase')
  }
}

/** The same for what is read at the start: wrong files are a wrong configuration. Rejects with that. */
export async function readAtStart<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw wrongConfig((error as Error).message)
  }
}

/**
 * Reads files again every 30 s, or `pauseMs`, and has what changed used. While they can't be read or used, what was
 * used before stays, and each reason is logged once.
 */
export function followFiles<T>(options: {
  first: T
  read(): Promise<T>
  use(value: T): void
  log: Log
  pauseMs?: number | undefined
}): { stop(): Promise<void> } {
  const { first, read, use, log, pauseMs = FOLLOW_MS } = options
  let used = JSON.stringify(first)
  let reported = ''
  return every({
    pauseMs,
    run: async () => {
      const value = await read()
      reported = ''
      const text = JSON.stringify(value)
      if (text === used) return
      use(value)
      used = text
      log.info('certificate files have changed: new connections use them')
    },
    failed: ({ message }) => {
      if (message !== reported)
        log.warn({ reason: message }, 'certificate files are not usable: what was read before stays in use')
      reported = message
    },
  })
}
