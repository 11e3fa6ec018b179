import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../components/actions.tsx'
import { AreaField, SelectField } from '../components/fields.tsx'
import { t, translated } from '../language.ts'
import { type KnownSettings, problemOfJson, unsetOf, withSetting } from './json-check.ts'

interface Props {
  label: string
  note?: string | undefined
  error?: string | undefined
  required?: boolean
  disabled?: boolean
  rows?: number
  value: string
  onChange(value: string): void
  /** It is a list, not an object. */
  isList?: boolean
  /** The settings that are read in it: they are offered. */
  known?: KnownSettings | undefined
}

/** A free-form value as JSON: checked as it is typed, with the settings that are known to choose from. */
export function JsonField({ isList = false, known, rows = 8, error, ...rest }: Props) {
  const { value, disabled, onChange, label } = rest
  const [chosen, setChosen] = useState('')
  const box = useRef<HTMLDivElement>(null)
  // Where the value stands of what was just added, which is what is typed next.
  const [added, setAdded] = useState<{ text: string; from: number; to: number }>()
  useLayoutEffect(() => {
    const area = box.current?.querySelector('textarea')
    if (added === undefined || area?.value !== added.text) return
    area.focus()
    area.setSelectionRange(added.from, added.to)
    setAdded(undefined)
  }, [added])
  const unset = known === undefined || disabled ? [] : unsetOf(value, known)
  const add = () => {
    const schema = known?.[chosen]
    if (schema === undefined) return
    const next = withSetting(value, chosen, schema)
    onChange(next.text)
    setAdded(next)
    setChosen('')
  }
  const about = known?.[chosen]?.description
  const isEmpty = value.trim() === '' && rest.required === false
  return (
    <div ref={box}>
      <AreaField
        {...{ ...rest, code: true, rows }}
        error={(isEmpty ? undefined : problemOfJson(value, { isList, ...(known && { known }) })) ?? error}
      />
      {unset.length > 0 && (
        <div class="field-row">
          <SelectField
            label={t('What can be set in {label}', { label })}
            code
            note={about && translated(about.replaceAll('`', ''))}
            value={chosen}
            options={[{ value: '', name: t('Choose …') }, ...unset.map((name) => ({ value: name, name }))]}
            onChange={setChosen}
          />
          <Button label={t('Add to {label}', { label })} disabled={chosen === ''} onClick={add}>
            {t('Add')}
          </Button>
        </div>
      )}
    </div>
  )
}
