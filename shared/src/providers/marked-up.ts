import { providerNamed } from './registry.ts'

/** The facts about the channel that something is said on. */
export interface Speaking {
  callback: string
  config: Readonly<Record<string, unknown>>
}

/** A text that a model or a person wrote as Markdown, in the markup of the channel's provider. */
export function markedUp(text: string, { callback, config }: Speaking): string {
  const toMarkup = providerNamed(callback)?.outbound.toMarkup
  return toMarkup === undefined || config.markup === 'asIs' ? text : toMarkup(text)
}
