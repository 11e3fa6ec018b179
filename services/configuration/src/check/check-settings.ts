import { ACTION_SETTINGS, MODEL_SETTINGS } from '@parley/shared/config-settings'
import { CREDENTIALS_CONFIG, WORKFLOWS_CONFIG } from '@parley/shared/documents/assistant'
import { type JsonObject, jsonObject, pointerSegment } from '@parley/shared/json-object'
import { nearest, plainOf } from '@parley/shared/nearest'
import { MODEL_PROVIDERS } from '@parley/shared/provider-addresses'
import { allProviders } from '@parley/shared/providers/registry'
import { CHANNEL_SETTINGS } from '../resources/channel.ts'
import type { ResourceDocument } from '../store/stored-document.ts'
import type { Finding } from './finding.ts'

const MAX_KEYS = 200
const MAX_CHARACTERS = 64

/** Read from a channel beside what is checked when it is written. */
const UNCHECKED = ['timeZone', 'language', 'languages', 'ordered', 'signingSecrets', 'apiUrl', 'apiVersion']
const MODEL = Object.keys(MODEL_SETTINGS)
const OF_ASSISTANTS = [
  ...['model', 'AI_CHAT_PROVIDER', 'transcription', WORKFLOWS_CONFIG, CREDENTIALS_CONFIG],
  ...MODEL_PROVIDERS.map((provider) => `${provider}_CREDENTIALS`),
]

const OF_ACTIONS = Object.keys(ACTION_SETTINGS)
const { minimum: LEAST_CALL_SECONDS, maximum: MOST_CALL_SECONDS } = ACTION_SETTINGS.timeoutSeconds

type Wrong = { path: string; message: string }

/** Settings of a channel under a name that is nearly one that is read, and a time zone that nobody knows. */
export function channelSettingFindings({ _id, config }: ResourceDocument): Finding[] {
  const settings = jsonObject.safeParse(config).data ?? {}
  const known = [
    ...CHANNEL_SETTINGS,
    ...UNCHECKED,
    ...allProviders().flatMap((provider) => provider.settings.map(({ key }) => key)),
  ]
  const { timeZone } = settings
  const zones = timeZone == null || isTimeZone(timeZone) ? [] : [zoneFinding(timeZone)]
  return [...misspelled(settings, known, '/config'), ...zones].map((wrong) => ({
    ...{ code: 'unknown_setting', resource: 'channels', _id },
    ...wrong,
  }))
}

/**
 * Configs of assistants whose name is nearly one that is read, settings of models that nobody reads, and settings of
 * actions that are nearly ones that are read, or out of bounds.
 */
export function configFindings({ _id, name, ownerType, value }: ResourceDocument): Finding[] {
  const settings = jsonObject.safeParse(value).data ?? {}
  return wrongIn(String(ownerType), String(name), settings).map((wrong) => ({
    ...{ code: 'unknown_setting', resource: 'configs', _id },
    ...wrong,
  }))
}

function wrongIn(ownerType: string, name: string, settings: JsonObject): Wrong[] {
  if (/^actions?$/.test(ownerType))
    return name === CREDENTIALS_CONFIG
      ? []
      : [...misspelled(settings, OF_ACTIONS, '/value'), ...timeLimit(settings)]
  if (!/^assistants?$/.test(ownerType)) return []
  const near = nearest(name, OF_ASSISTANTS)
  const named = near === undefined ? [] : [{ path: '/name', message: unknown(name, near) }]
  return [...named, ...modelFindings(name, settings)]
}

function timeLimit({ timeoutSeconds }: JsonObject): Wrong[] {
  if (timeoutSeconds === undefined) return []
  const isSeconds =
    typeof timeoutSeconds === 'number' &&
    timeoutSeconds >= LEAST_CALL_SECONDS &&
    timeoutSeconds <= MOST_CALL_SECONDS
  const message = `is not a number of ${LEAST_CALL_SECONDS} to ${MOST_CALL_SECONDS}: the nearest is taken, or 15 where it is none`
  return isSeconds ? [] : [{ path: '/value/timeoutSeconds', message }]
}

function modelFindings(name: string, value: JsonObject): Wrong[] {
  const plain = name.toLowerCase().replaceAll('-', '_')
  if (!['model', 'ai_chat_provider', 'transcription'].includes(plain)) return []
  const fallbacks = Array.isArray(value.fallbacks) ? value.fallbacks : []
  return [
    ...unread(value, [...MODEL, 'fallbacks'], '/value'),
    ...fallbacks.slice(0, MAX_KEYS).flatMap((one, at) => {
      const { data = {} } = jsonObject.safeParse(one)
      return unread(data, MODEL, `/value/fallbacks/${at}`)
    }),
  ]
}

/** Every key that is not known. */
const unread = (settings: JsonObject, known: readonly string[], at: string): Wrong[] =>
  keysOf(settings)
    .filter((key) => !known.includes(key))
    .map((key) => ({
      path: `${at}/${pointerSegment(key)}`,
      message: unknown(key, nearest(key, known)),
    }))

/** The keys that are nearly known ones: any other may be for somebody else who reads the document. */
const misspelled = (settings: JsonObject, known: readonly string[], at: string): Wrong[] =>
  keysOf(settings).flatMap((key) => {
    const near = nearest(key, known)
    return near === undefined || near in settings
      ? []
      : [{ path: `${at}/${pointerSegment(key)}`, message: unknown(key, near) }]
  })

const keysOf = (settings: JsonObject): string[] => Object.keys(settings).slice(0, MAX_KEYS)

function unknown(name: string, near: string | undefined): string {
  const shown = JSON.stringify(name.slice(0, MAX_CHARACTERS).toWellFormed())
  return near === undefined ? `nothing reads ${shown}` : `nothing reads ${shown}; is ${near} meant?`
}

function isTimeZone(timeZone: unknown): boolean {
  try {
    return typeof timeZone === 'string' && new Intl.DateTimeFormat('en', { timeZone }) !== undefined
  } catch {
    return false
  }
}

function zoneFinding(timeZone: unknown): Wrong {
  const zones = Intl.supportedValuesOf('timeZone')
  const name = String(timeZone).slice(0, MAX_CHARACTERS).toWellFormed()
  const near = nearest(name, zones) ?? zones.find((zone) => plainOf(zone).endsWith(`/${plainOf(name)}`))
  const instead = near === undefined ? 'UTC is taken' : `UTC is taken; is ${near} meant?`
  return { path: '/config/timeZone', message: `there is no time zone ${JSON.stringify(name)}: ${instead}` }
}
