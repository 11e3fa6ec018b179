import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../language.ts'

const GROUPS = [
  {
    name: t('Faces'),
    emojis:
      '😀 😃 😄 😁 😆 😅 😂 🤣 🙂 🙃 😉 😊 😇 🥰 😍 😘 😋 😜 🤪 🤗 🤭 🤫 🤔 🤐 😐 😑 😶 😏 🙄 😬 😌 😔 😪 😴 😷 🤒 🤕 🥵 🥶 🥳 😎 🤓 🧐 😕 😟 🙁 😮 😯 😲 😳 🥺 😢 😭 😱 😞 😓 😩 😤 😡',
  },
  {
    name: t('Hands and hearts'),
    emojis:
      '👍 👎 👌 ✌️ 🤞 🤝 🙏 👏 🙌 👋 🤙 💪 👉 👈 👆 👇 ☝️ ✋ 🫶 🤷 🙋 🙇 ❤️ 🧡 💛 💚 💙 💜 🖤 🤍 💔 💕 💖 💯 ✨ 🔥 🎉 🎊',
  },
  {
    name: t('Things'),
    emojis:
      '📦 🚚 🏠 🏢 🏥 🏦 📍 🗺️ ✈️ 🚗 🚲 🚌 🛒 🛍️ 💳 💰 🧾 📄 📎 📷 📱 💻 📞 ✉️ 📅 ⏰ ⌛ 🔑 🔒 🔧 💡 🔋 🎁 🎂 ☕ 🍕 🍔 🥗 🍎 🍺 🍷 🌹 🌻 🌱 🌳 🐶 🐱 🐦 ☀️ ⛅ 🌧️ ❄️ ⚽ 🏆 🎵 📚',
  },
  {
    name: t('Signs'),
    emojis: '✅ ☑️ ✔️ ❌ ❗ ❓ ⚠️ 🚫 ➡️ ⬅️ ⬆️ ⬇️ 🔄 ➕ ➖ 🆕 🆗 🆘 ℹ️ 1️⃣ 2️⃣ 3️⃣ 4️⃣ 5️⃣ 🔴 🟠 🟡 🟢 🔵 ⚫ ⚪ ⭐ 💬 📌 🔔 ♻️',
  },
].map(({ name, emojis }) => ({ name, emojis: emojis.split(' ') }))
const COLUMNS = 8
const LATELY = 'parley.emojis'
const MOST_LATELY = 2 * COLUMNS

interface PickerProps {
  onChoose(emoji: string): void
  onClose(): void
}

/** Emojis to choose from: by arrow keys and Enter, or by a click. Those chosen lately, in this browser, come first. */
export default function EmojiPicker({ onChoose, onClose }: PickerProps) {
  const [lately] = useState(chosenLately)
  const [at, setAt] = useState(0)
  const box = useRef<HTMLDivElement>(null)
  const groups = [...(lately.length > 0 ? [{ name: t('Lately'), emojis: lately }] : []), ...GROUPS]
  const count = groups.reduce((sum, { emojis }) => sum + emojis.length, 0)
  const focus = (place: number) => box.current?.querySelectorAll('button')[place]?.focus()
  useEffect(() => focus(0), [])
  const choose = (emoji: string) => {
    remember(emoji)
    onChoose(emoji)
  }
  const moveTo = (event: KeyboardEvent) => {
    const place = MOVES[event.key]?.(at, count)
    if (event.key !== 'Escape' && place === undefined) return
    event.preventDefault()
    event.stopPropagation()
    if (place === undefined) onClose()
    else focus(Math.max(0, Math.min(count - 1, place)))
  }
  let place = 0
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the buttons in it
    <div ref={box} class="emoji-picker" onKeyDown={moveTo}>
      {groups.map(({ name, emojis }) => (
        <fieldset key={name}>
          <legend class="note">{name}</legend>
          {emojis.map((emoji) => {
            const own = place++
            return (
              <button
                key={emoji}
                type="button"
                tabIndex={own === at ? 0 : -1}
                onFocus={() => setAt(own)}
                onClick={() => choose(emoji)}
              >
                {emoji}
              </button>
            )
          })}
        </fieldset>
      ))}
    </div>
  )
}

const MOVES: Record<string, (at: number, count: number) => number> = {
  ArrowRight: (at) => at + 1,
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at) => at + COLUMNS,
  ArrowUp: (at) => at - COLUMNS,
  Home: () => 0,
  End: (_at, count) => count - 1,
}

function chosenLately(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(LATELY) ?? '[]')
    return Array.isArray(stored) ? stored.map(String).slice(0, MOST_LATELY) : []
  } catch {
    return []
  }
}

function remember(emoji: string): void {
  const others = chosenLately().filter((one) => one !== emoji)
  localStorage.setItem(LATELY, JSON.stringify([emoji, ...others].slice(0, MOST_LATELY)))
}
