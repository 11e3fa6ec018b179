/** One setting of a channel's `config`. */
export interface Setting {
  /** Its key in `config`. */
  key: string
  label: string
  kind: 'text' | 'url'
  /** Where people find it, or what it is for. */
  note: string
  /** The use that needs it; people are asked only for what is needed to send or receive. */
  neededTo: 'send' | 'receive' | 'check'
  /** It may be left out, and then is `fallback`, or what it is for does not work. */
  isOptional?: true
  fallback?: string
  /** It is sealed where it is stored, and shown to nobody who may not write the channel. */
  isSecret?: true
  /** The setting with the address that this secret is sent to; it goes to no other. */
  sentTo?: string
  /** Nobody is asked for it: whoever sets up a channel makes a random one. */
  isGenerated?: true
  /** A note for whoever replaces it. */
  replacing?: string
  /** The consequence of its absence, as a sentence. */
  missing?: string
}

/** The settings of one channel, as texts; what it does not have is undefined. */
export type Settings = Readonly<Record<string, string | undefined>>
