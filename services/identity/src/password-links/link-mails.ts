import type { AuditReports } from '@parley/shared/audit-acts'
import { FairSlots, type SlotLimits } from '@parley/shared/fair-slots'
import type { Language } from '@parley/shared/languages'
import type { Log } from '@parley/shared/log'
import { inTransaction } from '@parley/shared/transaction'
import type { Connection } from 'mongoose'
import { createTransport } from 'nodemailer'
import type { Counter } from 'prom-client'
import type { MailSettings } from '../config.ts'
import type { Account } from '../store/account.ts'
import type { Collections } from '../store/collections.ts'
import { newPasswordLink, type PasswordLink, storePasswordLink } from '../store/password-link.ts'
import { linkMail } from './mail-texts.ts'

/** How long a mailed link works; the texts of the mail say so. */
const LINK_MS = 30 * 60_000
/** For so long an account gets no second mail, and the link of the first one stays the newest. */
const REPEAT_MS = 5 * 60_000
/** Less than a process has left when it ends. */
const SEND_MS = 15_000
const LIMITS: SlotLimits = { of: 'mails', total: 4, queue: { total: 256, each: 32, ms: 60_000 } }

/** The request for a link: the key of an account, which may not exist, and the origin of the request. */
interface Asked {
  usernameKey: string
  language: Language
  /** By what its address is counted. */
  by: string
  origin: { address: string; requestId: string }
  path: string
}

/** Mails links for new passwords, to whoever has an account. */
export interface LinkMails {
  /** Returns at once, whether there is such an account or not. What can't be mailed is counted and logged. */
  send(asked: Asked): void
  /** Waits for what is being sent; what waits is lost. */
  close(): Promise<void>
}

interface Dependencies {
  connection: Connection
  collections: Collections
  reports: Pick<AuditReports, 'report'>
  /** Counted by outcome: sent or lost. */
  mails: Counter<'outcome'>
  log: Log
}

/** Four are sent at once, for 15 s each; 256 wait, for a minute. */
export function createLinkMails(
  { smtpUrl, from, publicUrl }: MailSettings,
  dependencies: Dependencies,
): LinkMails {
  const { mails, log } = dependencies
  const transport = createTransport(smtpUrl, { from, disableFileAccess: true, disableUrlAccess: true })
  const slots = new FairSlots(LIMITS)
  const unfinished = new Set<Promise<void>>()
  const ending = new AbortController()
  const deliver = async (asked: Asked) => {
    const release = await slots.enter([asked.by])
    try {
      ending.signal.throwIfAborted()
      const planned = await planMail(dependencies, asked)
      if (planned === undefined) return
      const { account, secret, link } = planned
      const to = { name: '', address: account.username }
      const mail = linkMail(asked.language, `${publicUrl}/console/new-password#${secret}`)
      try {
        await transport.sendMail({ to, ...mail, signal: AbortSignal.timeout(SEND_MS) })
      } catch (error) {
        await forget(dependencies.collections, link)
        throw error
      }
      mails.inc({ outcome: 'sent' })
    } finally {
      release()
    }
  }
  return {
    send(asked) {
      const delivered = deliver(asked)
        .catch((error: unknown) => {
          mails.inc({ outcome: 'lost' })
          const { requestId } = asked.origin
          const reason = reasonOf(error)
          log.error(
            { reason, requestId },
            'a mail for a new password was not sent: it may be asked for again',
          )
        })
        .finally(() => unfinished.delete(delivered))
      unfinished.add(delivered)
    },
    async close() {
      ending.abort()
      await Promise.all(unfinished)
      transport.close()
    },
  }
}

/** Stores the link of a mail. Undefined where nobody gets one: there is no such account, or it has one of a moment ago. */
async function planMail(
  { connection, collections, reports }: Dependencies,
  { usernameKey, origin, path }: Asked,
): Promise<{ account: Account; secret: string; link: PasswordLink } | undefined> {
  const account = await collections.accounts.findOne({ usernameKey })
  if (account === null) return undefined
  const { _id, name, workspace } = account
  reports.report({
    ...{ workspace, account: _id, name, ...origin, path },
    ...{ action: 'forgot-password', resource: 'users', document: _id, outcome: 'done' },
  })
  const since = new Date(Date.now() - REPEAT_MS)
  const mailed = { _id, maker: { $exists: false }, createdAt: { $gt: since } }
  if ((await collections.passwordLinks.findOne(mailed)) !== null) return undefined
  const { link, secret } = newPasswordLink(_id, LINK_MS)
  const isStored = await inTransaction(connection, (transaction) =>
    storePasswordLink(collections, transaction, { link, account }),
  )
  if (!isStored) throw new Error('the password is being changed')
  return { account, secret, link }
}

/** Returns the reason of an error by its code: a server's text may contain addresses. */
function reasonOf(error: unknown): string {
  const { code, responseCode, name } = error as { code?: string; responseCode?: number; name?: string }
  return [code ?? name, responseCode].filter((part) => part !== undefined).join(' ')
}

/** Its owner may ask for another one at once. */
async function forget(
  { passwordLinks }: Pick<Collections, 'passwordLinks'>,
  { _id, hash }: PasswordLink,
): Promise<void> {
  await passwordLinks.deleteOne({ _id, hash })
}
