/** The webhook of one channel, and how it goes. */
export interface Hook {
  channel: { _id: number; name: string; extId: string; hook: string }
  url: string | null
  setup: { where: string; paste?: string; subscribe?: string[] }[]
  problems: string[]
  handshake: { succeeded: boolean; at: string | null }
  lastReceivedAt: string | null
  lastError: { at: string; code: string; message: string } | null
  signingSecret?: { source: 'channel' | 'derived'; value?: string } | null
}
