import type { ReadReceipt } from './send-request.ts'

const MAX_RECEIPTS = 10_000

interface LoggedReceipt extends ReadReceipt {
  at: string
  phoneNumberId: string
}

/** The newest 10,000 read receipts, in memory. */
export interface ReceiptLog {
  add(receipt: Omit<LoggedReceipt, 'at'>): void
  /** Oldest first; of one phone number where one is given. */
  list(phoneNumberId?: string): LoggedReceipt[]
}

export function createReceiptLog(): ReceiptLog {
  const receipts: LoggedReceipt[] = []
  return {
    add(receipt) {
      receipts.push({ at: new Date().toISOString(), ...receipt })
      if (receipts.length > MAX_RECEIPTS) receipts.shift()
    },
    list: (phoneNumberId) =>
      receipts.filter((one) => phoneNumberId === undefined || one.phoneNumberId === phoneNumberId),
  }
}
