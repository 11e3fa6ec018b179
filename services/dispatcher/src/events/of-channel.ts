import type { Subscription } from './subscriptions.ts'

/** What a subscription to one channel needs: the external id of a channel. */
export type ExtIdOf = (workspace: number, channel: number) => Promise<string | undefined>

/** Whether a subscription is of the channel of a message or a thread, or of all. */
export async function isOfChannel(
  { workspace, channel }: Pick<Subscription, 'workspace' | 'channel'>,
  record: { channel: string; channelId?: number | undefined },
  extIdOf: ExtIdOf,
): Promise<boolean> {
  if (channel === undefined || channel === record.channelId) return true
  return record.channelId === undefined && (await extIdOf(workspace, channel)) === record.channel
}
