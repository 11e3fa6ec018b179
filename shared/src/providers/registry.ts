import type { Provider } from './provider.ts'
import { rpc } from './rpc/rpc.ts'
import { whatsapp } from './whatsapp/whatsapp.ts'

const registered = new Map<string, Provider>()
let all: readonly Provider[] = []
let secrets: ReadonlySet<string> = new Set()
let sources: ReadonlyMap<string, Provider> = new Map()

registerProvider(rpc)
registerProvider(whatsapp)

/** Makes a provider known to the services of this process; the result takes it back. */
export function registerProvider(provider: Provider): () => void {
  registered.set(provider.name, provider)
  index()
  return () => {
    registered.delete(provider.name)
    index()
  }
}

function index(): void {
  all = [...registered.values()]
  const settings = all.flatMap((provider) => provider.settings)
  secrets = new Set(settings.filter(({ isSecret }) => isSecret).map(({ key }) => key))
  sources = new Map(
    all.flatMap((provider) => (provider.inbound === undefined ? [] : [[provider.inbound.source, provider]])),
  )
}

/** The provider of this name, as a channel's `hook` and `callback` have it; undefined where there is none. */
export const providerNamed = (name: unknown): Provider | undefined =>
  typeof name === 'string' ? registered.get(name) : undefined

/** The provider that a message came from; undefined for what a caller of the API posted, or somebody of the team. */
export const providerOfSource = (source: string): Provider | undefined => sources.get(source)

/** The provider of a channel where nothing says so: the first one that messages come from. */
export const usualProvider = (): Provider =>
  allProviders().find(({ inbound }) => inbound !== undefined) ?? rpc

/** Every provider, in the order of registration. */
export const allProviders = (): readonly Provider[] => all

/** True when a text is an id that a provider gives what is sent, as far as that can be seen. */
export const isProviderId = (text: string): boolean =>
  allProviders().some(({ outbound: { idPrefix } }) => idPrefix !== undefined && text.startsWith(idPrefix))

/** True when a setting of this name is a provider's secret. */
export const isProviderSecret = (key: string): boolean => secrets.has(key)
