import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { waitUntil } from '@parley/local/wait-until'
import { SMTPServer } from 'smtp-server'

/** A mail as it came in. */
interface ReceivedMail {
  to: string[]
  /** All lines of its head. */
  head: string
  text: string
}

interface MailServer {
  /** The value of `SMTP_URL`. */
  url: string
  mails: ReceivedMail[]
  /** The mail to an address that comes next, of those that nobody has asked for yet. */
  next(to: string): Promise<ReceivedMail>
  close(): Promise<void>
}

/** A mail server that takes everything for everybody. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData: (stream, { envelope }, done) => {
      void text(stream).then((source) => {
        mails.push({ to: envelope.rcptTo.map(({ address }) => address), ...partsOf(source) })
        done()
      })
    },
  })
  const listening = server.listen(0, '127.0.0.1')
  if (!listening.listening) await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    async next(to) {
      const isTo = (mail: ReceivedMail) => mail.to.includes(to)
      if (!(await waitUntil(() => mails.some(isTo), { timeoutMs: 30_000 })))
        throw new Error(`no mail to ${to}`)
      return mails.splice(mails.findIndex(isTo), 1)[0] as ReceivedMail
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Head and text of a mail that has one part. */
function partsOf(source: string): Pick<ReceivedMail, 'head' | 'text'> {
  const end = source.indexOf('\r\n\r\n')
  const [head, body] = [source.slice(0, end), source.slice(end + 4)]
  const encoding = /^content-transfer-encoding: *(\S+)/im.exec(head)?.[1]?.toLowerCase()
  if (encoding === 'base64') return { head, text: Buffer.from(body, 'base64').toString() }
  return { head, text: encoding === 'quoted-printable' ? unquoted(body) : body }
}

const unquoted = (body: string): string =>
  Buffer.from(
    body
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_found, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()
