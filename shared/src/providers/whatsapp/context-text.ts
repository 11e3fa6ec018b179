import { own, textAt } from '../own.ts'

/** Of each text that others chose, in characters. */
const MAX_TEXT = 500

/** Texts for a model of what stands beside a message: the product, the ad that it came by, whether it was forwarded. */
export function contextText(raw: unknown): string[] {
  return [productOf(raw), adOf(raw), forwardedOf(raw)].filter((text) => text !== undefined)
}

function productOf(raw: unknown): string | undefined {
  const product = own(raw, 'context', 'referred_product')
  const id = textAt(product, 'product_retailer_id')
  if (id === undefined) return undefined
  const catalogue = textAt(product, 'catalog_id')
  return `[It is about the product ${quoted(id)}${catalogue === undefined ? '' : ` of the catalogue ${quoted(catalogue)}`}.]`
}

const AD_TEXTS = ['headline', 'body', 'source_url'] as const

/** The text of an ad, which is no instruction, whoever wrote it. */
function adOf(raw: unknown): string | undefined {
  const ad = own(raw, 'referral')
  if (ad === undefined) return undefined
  const texts = AD_TEXTS.flatMap((key) => textAt(ad, key) ?? []).map(quoted)
  return texts.length === 0
    ? '[The person came by an ad.]'
    : `[The person came by this ad: ${texts.join(', ')}.]`
}

function forwardedOf(raw: unknown): string | undefined {
  if (own(raw, 'context', 'frequently_forwarded') === true) return '[It was forwarded many times.]'
  return own(raw, 'context', 'forwarded') === true ? '[It was forwarded.]' : undefined
}

const quoted = (text: string): string =>
  JSON.stringify(text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1).toWellFormed()}…`)
