import type { ProviderAddresses } from './address.ts'
import type { Inbound } from './inbound.ts'
import type { Outbound } from './outbound.ts'
import type { Setting, Settings } from './setting.ts'
import type { TemplateRules } from './templates.ts'

/**
 * A messaging provider: all that is known of how it is set up, what comes from it and what goes to it. Everything here is
 * pure, and performed by the services. No module of a provider imports Node's modules or zod: the console's bundle has
 * them all.
 */
export interface Provider {
  /** The name by a channel's `hook` and `callback`, and in its webhook's address. It is stored, so it stays. */
  name: string
  description: ProviderDescription
  /** The settings that it reads of a channel's `config`, in the order in which people are asked for them. */
  settings: readonly Setting[]
  /** Warnings about settings that will not go on working as they are, by their keys. */
  warnings?(settings: Settings, now: Date): { key: string; message: string }[]
  addresses: ProviderAddresses
  /** The side that messages come from; undefined where none come but what callers of the API post. */
  inbound?: Inbound
  outbound: Outbound
  /** The settings of a channel that sends to our simulator of it at `url`, by one of its numbers; it has all that are asked for. */
  simulated?(url: string, number: string): Readonly<Record<string, string>>
  /** Its templates, where messages are made of those. */
  templates?: TemplateRules
}

/** Texts of the console, the list of hooks and the command line about a provider. */
export interface ProviderDescription {
  /** Its name in a sentence: "through WhatsApp". */
  label: string
  /** Its channels' name in a list of choices. */
  title: string
  /** The operator meant by "at the provider"; the label where there is no other name. */
  operator?: string
  /** How it is connected; undefined where nothing comes from it. */
  receiving?: Receiving
}

/** The things to do at the provider, so that what people write comes here. */
interface Receiving {
  /** For people who read one paragraph. `code` is a text to be copied as it is. */
  instructions: readonly (string | { code: string })[]
  /** True when the provider confirms the address by a request of its own, which one can wait for. */
  hasHandshake: boolean
  /** The query of a GET to the address that is refused with 403, which shows that the address leads here. */
  probe?: Readonly<Record<string, string>>
  /** The steps of the set-up, given the address that the provider is to send to. */
  steps(url: string): readonly SetupStep[]
}

/** The content of one place: a text to paste, or what to subscribe to. */
export interface SetupStep {
  where: string
  paste?: string
  subscribe?: string[]
}
