import type { ProviderAddresses } from './address.ts'
import type { Inbound } from './inbound.ts'
import type { Outbound } from './outbound.ts'
import type { Setting, Settings } from './setting.ts'

/**
 * A messaging provider: all that is known of how it is set up, what comes from it and what goes to it. Everything here is
 * pure, and performed by the services. No module of a provider imports Node's modules or zod: the console's bundle has
 * them all.
 */
export interface Provider {
  /** What a channel's `hook` and `callback` name it by, and its webhook's address. It is stored, so it stays. */
  name: string
  description: ProviderDescription
  /** What it reads of a channel's `config`, in the order in which people are asked for it. */
  settings: readonly Setting[]
  /** What will not go on as it is configured, by the key of each setting. */
  warnings?(settings: Settings, now: Date): { key: string; message: string }[]
  addresses: ProviderAddresses
  /** What comes from it; undefined where nothing does but what callers of the API post. */
  inbound?: Inbound
  outbound: Outbound
}

/** What the console, the list of hooks and the command line say of a provider. */
export interface ProviderDescription {
  /** What people call it, in a sentence: "through WhatsApp". */
  label: string
  /** What a channel of it is, in a list of choices. */
  title: string
  /** Who is meant by "at the provider"; the label where there is no other name. */
  operator?: string
  /** How it is connected; undefined where nothing comes from it. */
  receiving?: Receiving
}

/** What is to be done at the provider, so that what people write comes here. */
interface Receiving {
  /** For people who read one paragraph. `code` is a text to be copied as it is. */
  instructions: readonly (string | { code: string })[]
  /** True when the provider confirms the address by a request of its own, which one can wait for. */
  hasHandshake: boolean
  /** The query of a GET to the address that is refused with 403, which shows that the address leads here. */
  probe?: Readonly<Record<string, string>>
  /** What to put where, given the address that the provider is to send to. */
  steps(url: string): readonly SetupStep[]
}

/** What goes into one place: a text to paste, or what to subscribe to. */
export interface SetupStep {
  where: string
  paste?: string
  subscribe?: string[]
}
