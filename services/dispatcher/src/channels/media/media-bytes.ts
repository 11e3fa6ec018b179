/** Media as they are handed out. */
export interface MediaBytes {
  bytes: Buffer
  contentType: string
}

const ANY_TYPE = 'application/octet-stream'
const MAX_DATA_URL_HEADER = 1_024
const BASE64 = /^[A-Za-z0-9+/\-_\s]*={0,2}$/
const AUDIO_TYPE = /^audio\/[\w.+-]{1,100}(?:;\s*codecs=[\w.+-]{1,50})?$/i
/** Types that no browser runs, whatever the bytes are. */
const SAFE_TYPE =
  /^(?:audio\/[\w.+-]{1,100}|video\/[\w.+-]{1,100}|image\/(?:jpeg|png|webp|gif)|text\/(?:plain|csv)|application\/(?:pdf|json|zip|msword|vnd\.[\w.+-]{1,100}))(?:;\s*codecs=[\w.+-]{1,50})?$/i
const MAX_FILE_NAME = 100

const EXTENSIONS: Record<string, string> = {
  'audio/ogg': 'ogg',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/mp4': 'm4a',
  'audio/aac': 'aac',
  'audio/amr': 'amr',
  'audio/webm': 'webm',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'video/mp4': 'mp4',
  'video/3gpp': '3gp',
  'application/pdf': 'pdf',
  'text/plain': 'txt',
}

/**
 * The bytes of audio that came in as text: a data URL or base64; anything else as it is. The type is the one the
 * data URL names, or what the bytes begin like.
 */
export function audioFromText(text: string): MediaBytes {
  const url = readDataUrl(text)
  if (url === undefined) {
    const bytes = BASE64.test(text.trimEnd()) ? Buffer.from(text, 'base64') : Buffer.from(text)
    return { bytes, contentType: typeOf(bytes) }
  }
  const bytes = url.isBase64 ? Buffer.from(url.content, 'base64') : Buffer.from(unescaped(url.content))
  return { bytes, contentType: audioType(url.type) ?? typeOf(bytes) }
}

/** The parts of a data URL (RFC 2397) whose type and parameters have at most 1,024 characters. */
function readDataUrl(text: string): { type: string; isBase64: boolean; content: string } | undefined {
  const comma = text.slice(0, MAX_DATA_URL_HEADER).indexOf(',')
  if (!text.startsWith('data:') || comma < 0) return undefined
  const [type = '', ...parameters] = text.slice('data:'.length, comma).split(';')
  return { type, isBase64: parameters.at(-1) === 'base64', content: text.slice(comma + 1) }
}

/** A content type as it may be handed out; undefined for one that a browser might run. */
export function safeType(type: string | undefined): string | undefined {
  return type !== undefined && SAFE_TYPE.test(type) ? type.toLowerCase() : undefined
}

/** The same of audio alone. */
function audioType(type: string | undefined): string | undefined {
  return type !== undefined && AUDIO_TYPE.test(type) ? type.toLowerCase() : undefined
}

/** Returns the type of bytes by their beginning. */
export function typeOf(bytes: Buffer): string {
  const begins = (text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text
  if (begins('OggS')) return 'audio/ogg'
  if (begins('\xff\xd8\xff')) return 'image/jpeg'
  if (begins('\x89PNG\r\n')) return 'image/png'
  if (begins('GIF8')) return 'image/gif'
  if (begins('RIFF') && begins('WEBP', 8)) return 'image/webp'
  if (begins('%PDF-')) return 'application/pdf'
  if (begins('RIFF') && begins('WAVE', 8)) return 'audio/wav'
  if (begins('ftyp', 4)) return 'audio/mp4'
  if (begins('#!AMR')) return 'audio/amr'
  if (begins('\x1aE\xdf\xa3')) return 'audio/webm'
  const [first = 0, second = 0] = bytes
  if (begins('ID3') || (first === 0xff && [0xfb, 0xf3, 0xf2].includes(second))) return 'audio/mpeg'
  return first === 0xff && (second & 0xf6) === 0xf0 ? 'audio/aac' : ANY_TYPE
}

/** The name of a file of this type: the one that the person gave it, as far as a header takes it, else the message's id. */
export function fileName(messageId: string, contentType: string, given?: string): string {
  const own = given?.replaceAll(/[^\w.-]+/g, '_').slice(-MAX_FILE_NAME) ?? ''
  if (/[a-z\d]/i.test(own)) return own

  const extension = EXTENSIONS[contentType.split(';', 1)[0] ?? ''] ?? 'bin'
  return `${messageId.replaceAll(/[^\w-]/g, '_')}.${extension}`
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
