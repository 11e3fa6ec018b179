import { t } from '../language.ts'
import { reasonOf } from '../words.ts'

/** The things that an assistant's tools lack, and why. */
export function MissingTools({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null
  return (
    <ul class="failure" aria-label={t('Missing tools')}>
      {notes.map((note) => (
        <li key={note}>{reasonOf(note)}</li>
      ))}
    </ul>
  )
}
