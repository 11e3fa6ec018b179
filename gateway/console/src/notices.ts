import { account } from './session.ts'
import { createStore } from './store.ts'

/** What somebody wants to be told of while they look elsewhere; of each account in this browser. */
interface NoticeSettings {
  sound: boolean
  desktop: boolean
  /** Of what. */
  messages: boolean
  handOvers: boolean
  assignments: boolean
  /** Not of what is assigned to others. */
  onlyOwn: boolean
}

const PREFIX = 'parley.notices.'
const USUAL: NoticeSettings = {
  ...{ sound: false, desktop: false },
  ...{ messages: true, handOvers: true, assignments: true, onlyOwn: false },
}

/** Counts the changes, in this tab and in others. */
export const noticeChanges = createStore(0)

export function readNoticeSettings(): NoticeSettings {
  try {
    return { ...USUAL, ...JSON.parse(localStorage.getItem(PREFIX + account.get()) ?? '{}') }
  } catch {
    return USUAL
  }
}

/** Asks the browser's leave where notices on the desktop are wanted; says whether it was given. */
export async function changeNotices(change: Partial<NoticeSettings>): Promise<boolean> {
  if (change.desktop && (await Notification.requestPermission()) !== 'granted') return false
  localStorage.setItem(PREFIX + account.get(), JSON.stringify({ ...readNoticeSettings(), ...change }))
  if (change.sound) ring()
  noticeChanges.set(noticeChanges.get() + 1)
  return true
}

/** Whether anything is to be told in the background. */
export function areNoticesOn(): boolean {
  const { sound, desktop } = readNoticeSettings()
  return sound || desktop
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
  if (!desktop || Notification.permission !== 'granted') return
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
