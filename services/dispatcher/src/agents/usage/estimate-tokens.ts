import type { ModelChoice, ModelRequest, ToolDescription } from '../model-client.ts'

/** Latin words have so many letters for each token, or more. */
const LETTERS_PER_TOKEN = 3
/** Tokenizers have tokens for long runs of spaces. */
const SPACES_PER_TOKEN = 4
/** Tokens that providers add around each item and each tool. */
const ITEM_TOKENS = 8
const TOOL_TOKENS = 16
/** Providers count up to so many for a photo, of which a model gets four at most. */
const IMAGE_TOKENS = 1_600
const MAX_IMAGES = 4
/** Of speech: of the formats that people send, none has fewer bytes for what a provider counts as a token. */
const AUDIO_BYTES_PER_TOKEN = 64

/**
 * How many tokens a text takes, without a tokenizer: rather too many than too few, whatever the language. Words of Latin
 * letters have a token for three of them; digits, signs and capitals inside of words (as in base64) one each; other
 * alphabets one for a letter, Chinese, Japanese and Korean two, anything else one for each byte of UTF-8.
 */
export function estimateTokens(text: string): number {
  let tokens = 0
  let letters = 0
  let spaces = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isSmallLetter(code)) {
      letters++
      continue
    }
    tokens += Math.ceil(letters / LETTERS_PER_TOKEN)
    letters = 0
    if (isCapital(code)) letters = 1
    else if (code === 0x20) spaces++
    else tokens += tokensOfCode(code)
  }
  // The space before a word is in the word's own token.
  const words = Math.ceil(letters / LETTERS_PER_TOKEN)
  return tokens + words + Math.ceil(spaces / SPACES_PER_TOKEN)
}

/** Returns the tokens that a request takes of a model, without its answer. */
export function estimatePrompt(
  choice: ModelChoice,
  { system, conversation, tools }: Pick<ModelRequest, 'system' | 'conversation' | 'tools'>,
): number {
  let tokens = estimateTokens(system) + ITEM_TOKENS
  let images = 0
  for (const item of conversation) {
    tokens += ITEM_TOKENS
    if (item.role === 'data') {
      images += item.images?.length ?? 0
      // As the model is given it.
      tokens += estimateTokens(item.json.replaceAll('<', '\\u003c'))
      continue
    }
    tokens += estimateTokens(item.text)
    if (item.role === 'person') {
      if (item.image !== undefined) images++
      continue
    }
    for (const { text = '' } of item.reasoning?.parts ?? []) tokens += estimateTokens(text)
    for (const { tool, args, result } of item.calls)
      tokens +=
        2 * ITEM_TOKENS + [tool, args, result.text].reduce((sum, text) => sum + estimateTokens(text), 0)
  }
  if (choice.vision === true) tokens += Math.min(images, MAX_IMAGES) * IMAGE_TOKENS
  return tools.reduce((sum, tool) => sum + tokensOfTool(tool), tokens)
}

/** Returns the tokens that transcribing so many bytes of audio takes. */
export const estimateAudio = (bytes: number): number => Math.ceil(bytes / AUDIO_BYTES_PER_TOKEN)

const schemas = new WeakMap<object, number>()

function tokensOfTool({ name, description, inputSchema }: ToolDescription): number {
  const schema = schemas.get(inputSchema) ?? estimateTokens(JSON.stringify(inputSchema))
  schemas.set(inputSchema, schema)
  return TOOL_TOKENS + estimateTokens(name) + estimateTokens(description) + schema
}

const isSmallLetter = (code: number): boolean => code >= 0x61 && code <= 0x7a
const isCapital = (code: number): boolean => code >= 0x41 && code <= 0x5a

/** Of what is no Latin letter and no space. */
function tokensOfCode(code: number): number {
  if (code < 0x80) return 1
  if (code < 0x800) return isCommonAlphabet(code) ? 1 : 2
  if (isEastAsian(code)) return 2
  // Half of a character that takes four bytes.
  if (code >= 0xd800 && code <= 0xdfff) return 2
  return 3
}

/** Latin with its marks, Greek, Cyrillic, Hebrew, Arabic. */
const isCommonAlphabet = (code: number): boolean =>
  (code < 0x300 || code > 0x36f) && (code < 0x530 || code >= 0x590) && code < 0x700

const isEastAsian = (code: number): boolean =>
  (code >= 0x3000 && code <= 0x30ff) ||
  (code >= 0x4e00 && code <= 0x9fff) ||
  (code >= 0xac00 && code <= 0xd7a3)
