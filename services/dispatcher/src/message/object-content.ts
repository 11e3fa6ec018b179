import { providerNamed } from '@parley/shared/providers/registry'
import type { ObjectContent, SendContent } from './message-record.ts'

/**
 * The object of a provider's own that a send is; undefined where it is something else. In records of an earlier version
 * its kind is the name of the provider.
 */
export function objectIn(content: SendContent): ObjectContent | undefined {
  if (content.kind === 'object') return content
  const { kind: provider, type, position } = content as { kind: string; type: string; position: number }
  return providerNamed(provider) && { kind: 'object', provider, type, position }
}
