import { CONSENT_PAYLOADS, type consentStatus } from '@parley/shared/consent'
import { z } from 'zod'

type ConsentStatus = z.output<typeof consentStatus>

/** Longer texts are none of the words. */
export const MAX_WORD = 64
const MAX_WORDS = 100
const MAX_LANGUAGES = 100

/** Words by language, as a workspace gives them. */
const wordLists = z
  .record(z.string().max(35), z.array(z.string().max(MAX_WORD)).max(MAX_WORDS))
  .refine((lists) => Object.keys(lists).length <= MAX_LANGUAGES)
const consentWords = z.object({ optOut: wordLists.optional(), optIn: wordLists.optional() })

/** The whole message is one of these; what also answers a question, such as "cancel" or "yes", is none. */
const OPT_OUT: z.output<typeof wordLists> = {
  en: [
    'stop',
    'stop all',
    'stopall',
    'unsubscribe',
    'opt out',
    'optout',
    'stop promotions',
    'stop marketing',
  ],
  pt: ['parar', 'pare', 'sair', 'descadastrar', 'remover', 'parar promoções', 'não quero receber'],
  es: ['baja', 'parar', 'detener', 'darme de baja', 'dar de baja', 'detener promociones'],
  fr: ['arrêt', 'arrêter', 'désabonner', 'me désabonner', 'arrêter les promotions'],
  de: ['stopp', 'abmelden', 'abbestellen', 'austragen', 'werbung stoppen'],
  it: ['ferma', 'disiscrivimi', 'cancellami', 'interrompi promozioni'],
}
const OPT_IN: z.output<typeof wordLists> = {
  en: ['start', 'unstop', 'subscribe', 'opt in', 'optin', 'resume promotions'],
  pt: ['voltar', 'quero receber', 'cadastrar', 'inscrever'],
  es: ['alta', 'darme de alta', 'suscribir', 'reanudar'],
  fr: ['reprendre', 'abonner', 'me réabonner'],
  de: ['anmelden', 'abonnieren'],
  it: ['riprendi', 'iscrivimi'],
}

/** Whole messages, folded, and what they say. */
export type ConsentWords = ReadonlyMap<string, ConsentStatus>

/**
 * The words of a workspace: its own lists take the place of those of their languages, an empty one of none. What is not in
 * the form of lists counts for nothing; what both lists have opts out.
 */
export function wordsOf(value: unknown): ConsentWords {
  const { optOut, optIn } = consentWords.safeParse(value).data ?? {}
  const found = new Map<string, ConsentStatus>()
  for (const word of foldedIn(OPT_IN, optIn)) found.set(word, 'granted')
  for (const word of foldedIn(OPT_OUT, optOut)) found.set(word, 'withdrawn')
  return found
}

const foldedIn = (ours: z.output<typeof wordLists>, theirs: z.output<typeof wordLists> = {}): string[] =>
  Object.values({ ...ours, ...theirs })
    .flat()
    .map(folded)
    .filter((word) => word !== '')

/** The words of a text without case, accents, and what stands around them, such as quotes or a full stop. */
export function folded(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .toLowerCase()
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).join(' ')
}

/** A statement of a person that may be about consent, as a whole message or by a button. */
export interface ConsentSaid {
  text: string
  /** Of a button that was pressed. */
  payload?: string
}

/** Returns the consent in a statement, by the words of a workspace; undefined where it says something else. */
export function statusSaid({ text, payload }: ConsentSaid, words: ConsentWords): ConsentStatus | undefined {
  const known = payload !== undefined && Object.hasOwn(CONSENT_PAYLOADS, payload)
  return known ? CONSENT_PAYLOADS[payload] : words.get(folded(text))
}
