import type { Schemas } from '@parley/client'
import { call } from './api.ts'
import { account } from './session.ts'
import { createStore } from './store.ts'

/** The events that an account is notified of while its user looks elsewhere, and how. */
export type NoticeSettings = Schemas['NoticePreferences']

const PREFIX = 'parley.notices.'
const NONE: NoticeSettings = {
  ...{ sound: false, desktop: false },
  ...{ messages: false, handOvers: false, assignments: false, onlyOwn: false },
}

/** Counts the changes, in this tab and in others. */
export const noticeChanges = createStore(0)

/** As the tabs of this browser know them; none until the account is loaded. */
export function readNoticeSettings(): NoticeSettings {
  try {
    return { ...NONE, ...JSON.parse(localStorage.getItem(PREFIX + account.get()) ?? '{}') }
  } catch {
    return NONE
  }
}

/** Has all tabs of this browser go by the settings of the account. */
export function shareNoticeSettings(settings: NoticeSettings): void {
  const key = PREFIX + account.get()
  const text = JSON.stringify(settings)
  if (localStorage.getItem(key) === text) return
  localStorage.setItem(key, text)
  noticeChanges.set(noticeChanges.get() + 1)
}

/** Asks for the browser's permission where notices on the desktop are switched on. Returns whether it was given. */
export async function changeNotices(change: Partial<NoticeSettings>): Promise<boolean> {
  if (change.desktop && !(await allowNotices())) return false
  const { preferences } = await call<Schemas['CurrentUser']>('PATCH', '/api/auth/me', {
    body: { preferences: { notices: change } },
  })
  shareNoticeSettings(preferences.notices)
  if (change.sound) ring()
  return true
}

/** Asks the browser to let this page show desktop notices, and returns its consent: each browser asks for itself. */
export async function allowNotices(): Promise<boolean> {
  const isAllowed = (await Notification.requestPermission()) === 'granted'
  noticeChanges.set(noticeChanges.get() + 1)
  return isAllowed
}

/** Returns the state of desktop notices: they can't be shown at all, or this browser allows or blocks them. */
export const desktopNotices = (): 'missing' | 'allowed' | 'blocked' =>
  !('Notification' in globalThis) || navigator.locks === undefined
    ? 'missing'
    : Notification.permission === 'granted'
      ? 'allowed'
      : 'blocked'

/** True if the page notifies in the background, by sound or on the desktop. */
export function areNoticesOn(): boolean {
  const { sound, desktop } = readNoticeSettings()
  return sound || (desktop && desktopNotices() === 'allowed')
}

addEventListener('storage', ({ key }) => {
  if (key?.startsWith(PREFIX)) noticeChanges.set(noticeChanges.get() + 1)
})

interface Notice {
  /** One for each; a later one takes the place of an earlier one. */
  tag: string
  title: string
  text: string
  onClick(): void
}

/** Tells of something in the ways that are set. */
export function raiseNotice({ tag, title, text, onClick }: Notice): void {
  const { sound, desktop } = readNoticeSettings()
  if (sound) ring()
  if (!desktop || desktopNotices() !== 'allowed') return
  const shown = new Notification(title, { body: text, tag })
  shown.onclick = () => {
    focus()
    onClick()
    shown.close()
  }
}

const TONES = [880, 1_175]
const TONE_S = 0.14
const VOLUME = 0.12
let audio: AudioContext | undefined

/** Two short tones. Before the first click on a page browsers let it make none. */
function ring(): void {
  audio ??= new AudioContext()
  const { destination, currentTime } = audio
  void audio.resume()
  for (const [at, frequency] of TONES.entries()) {
    const tone = new OscillatorNode(audio, { frequency })
    const begins = currentTime + at * TONE_S
    const volume = new GainNode(audio, { gain: VOLUME })
    volume.gain.exponentialRampToValueAtTime(0.001, begins + 2 * TONE_S)
    tone.connect(volume).connect(destination)
    tone.start(begins)
    tone.stop(begins + 2 * TONE_S)
  }
}
