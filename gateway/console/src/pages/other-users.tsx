import { t } from '../language.ts'

/** That a change here changes others, too. */
export function OtherUsersNote({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <p class="note mark">
      {t('Also used by {names}: a change here is one there.', { names: names.join(', ') })}
    </p>
  )
}
