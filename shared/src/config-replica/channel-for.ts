import type { ConfigurationDocument } from './replica-store.ts'

const HOOK = 'whatsapp'

/** Of a workspace's channels the one for messages of `extId`: whose hook is WhatsApp comes first, then the lowest id. */
export function channelFor(
  documents: readonly ConfigurationDocument[],
  extId: string,
): ConfigurationDocument | undefined {
  const rank = ({ hook }: ConfigurationDocument) => (hook === HOOK ? 0 : 1)
  return documents
    .filter((channel) => channel.extId === extId)
    .sort((one, other) => rank(one) - rank(other) || one._id - other._id)[0]
}
