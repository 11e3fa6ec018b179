import type { Schemas } from '@parley/client'
import { importPeople, type PeopleImport } from '@parley/client/import-people'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { call, listAll, type Page, patient } from '../api.ts'
import { Button, Dialog } from '../components/actions.tsx'
import { Fact, Failure } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { useSubmit } from '../components/submit.ts'
import { csvOf, download } from '../download.ts'
import { count } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import {
  guessColumns,
  importKeyOf,
  openPeopleFile,
  PERSON_COLUMNS,
  type PeopleFile,
  Workbook,
  withColumns,
} from '../people-file.ts'
import type { Attribute } from '../persons.ts'

type RowError = Schemas['ImportError']

const SHOWN_ERRORS = 20
const NAMES: Record<(typeof PERSON_COLUMNS)[number], string> = {
  ...{ phone: t('Phone'), addresses: t('Addresses'), name: t('Name'), language: t('Language') },
  ...{ timeZone: t('Time zone'), tags: t('Tags'), 'consent.marketing': t('Consent to marketing') },
  ...{ 'consent.service': t('Consent to service'), consentText: t('What they agreed to') },
}

interface Chosen extends PeopleFile {
  columns: string[]
}

/** Imports a file of people: how it is read, how far it is, and which of its rows were refused. */
export default function ImportDialog({ onClose }: { onClose(): void }) {
  const [chosen, setChosen] = useState<Chosen>()
  const [tags, setTags] = useState('')
  const [found, setFound] = useState<PeopleImport>()
  const leaving = useRef(new AbortController())
  useEffect(() => () => leaving.current.abort(), [])
  const { data } = useLoad('/rest/people/attributes', (signal) =>
    call<{ attributes: Attribute[] }>('GET', '/rest/people/attributes', { signal }),
  )
  const attributes = data?.attributes.map(({ name }) => name)
  const content = chosen && withColumns(chosen, chosen.columns)
  const { busy, error, submit, dismiss } = useSubmit(async () => {
    if (chosen === undefined || content === undefined) return
    const key = await importKeyOf(chosen, { content, tags })
    const contentType = chosen.format === 'csv' ? 'text/csv' : 'application/x-ndjson'
    const options = { key, contentType, tag: tags, signal: leaving.current.signal } as const
    for await (const one of importPeople(patient, content, options)) setFound(one)
  })
  const isOver = found !== undefined && !busy && error === undefined
  const isBroken = found !== undefined && error !== undefined
  const choose = (file: Chosen | undefined) => {
    setChosen(file)
    setFound(undefined)
    dismiss()
  }
  const isReadable = chosen?.format === 'ndjson' || chosen?.columns.some(isAddress) === true
  return (
    <Dialog title={t('Import people')} onClose={onClose} wide>
      <form onSubmit={submit}>
        <Unfinished />
        {attributes && <FileField attributes={attributes} disabled={busy} onChoose={choose} />}
        {chosen && !isOver && (
          <Preview
            of={chosen}
            attributes={attributes ?? []}
            disabled={busy || isBroken}
            onChange={(columns) => choose({ ...chosen, columns })}
          />
        )}
        <TextField
          label={t('Tags')}
          note={t('For all who are in it, between commas')}
          value={tags}
          onChange={setTags}
          required={false}
          disabled={busy || isBroken || isOver}
        />
        {found && <Progress of={found} size={content?.size ?? 0} first={chosen?.line ?? 1} />}
        <Failure error={error} />
        <div class="actions end">
          {isOver ? (
            <Button kind="primary" onClick={onClose}>
              {t('Done')}
            </Button>
          ) : (
            <Button type="submit" kind="primary" disabled={busy || !isReadable}>
              {isBroken ? t('Go on') : t('Import')}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  )
}

const isAddress = (column: string): boolean => column === 'phone' || column === 'addresses'

/** Says that the last import broke off: the browser has its file no more. */
function Unfinished() {
  const { data } = useLoad('/rest/people/imports?limit=1', (signal) =>
    call<Page<PeopleImport>>('GET', '/rest/people/imports', { query: { limit: 1 }, signal }),
  )
  const last = data?.data[0]
  if (last?.state !== 'open') return null
  return (
    <p class="note">
      {t('The last import broke off after {rows} rows. Choose the same file again, and it goes on there.', {
        rows: last.counts.rows,
      })}
    </p>
  )
}

interface FileFieldProps {
  attributes: readonly string[]
  disabled: boolean
  onChoose(file: Chosen | undefined): void
}

function FileField({ attributes, disabled, onChoose }: FileFieldProps) {
  const id = useId()
  const [wrong, setWrong] = useState<string>()
  const choose = async (file: File | undefined) => {
    setWrong(undefined)
    onChoose(undefined)
    if (file === undefined) return
    try {
      const opened = await openPeopleFile(file)
      onChoose({ ...opened, columns: guessColumns(opened.headings, attributes) })
    } catch (error) {
      const isWorkbook = error instanceof Workbook
      setWrong(isWorkbook ? t('It is a workbook: save it as “CSV UTF-8”.') : t('The file could not be read.'))
    }
  }
  return (
    <div class="field">
      <label for={id}>{t('File')}</label>
      <input
        id={id}
        type="file"
        accept=".csv,.txt,.ndjson,.jsonl,text/csv,application/x-ndjson"
        aria-describedby={`${id}-note`}
        disabled={disabled}
        onChange={({ currentTarget }) => void choose(currentTarget.files?.[0])}
      />
      <p class="note" id={`${id}-note`}>
        {t('CSV with a header, as spreadsheets save it, or a person as JSON on each line (.ndjson)')}
      </p>
      {wrong && (
        <p class="field-error" role="alert">
          {wrong}
        </p>
      )}
    </div>
  )
}

interface PreviewProps {
  of: Chosen
  attributes: readonly string[]
  disabled: boolean
  onChange(columns: string[]): void
}

/** The first rows, and what each column is. */
function Preview({ of, attributes, disabled, onChange }: PreviewProps) {
  const { readAs, columns, rows } = of
  return (
    <>
      {readAs && (
        <p class="note">
          {t('It is not in UTF-8, and read as {encoding}: see whether the names are right.', {
            encoding: readAs,
          })}
        </p>
      )}
      <ScrollRegion class="table-box" label={t('First rows')}>
        <table aria-label={t('First rows')}>
          {of.format === 'csv' && <Headings {...{ of, attributes, disabled, onChange }} />}
          <tbody>
            {rows.map((cells, at) => (
              <tr key={at}>
                {cells.map((cell, column) => (
                  <td key={column}>
                    <span class="cut">{cell}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {of.format === 'csv' && !columns.some(isAddress) && (
        <p class="field-error">{t('Say which column has the phone numbers or addresses.')}</p>
      )}
      {of.format === 'csv' && !columns.some((column) => column.startsWith('consent.')) && (
        <p class="note">{t('No column says who agreed to what: nobody’s consent changes.')}</p>
      )}
    </>
  )
}

function Headings({ of: { headings, columns }, attributes, disabled, onChange }: PreviewProps) {
  const names = [...PERSON_COLUMNS.map((name) => [name, NAMES[name]])]
  const options = [['', t('Left out')], ...names, ...attributes.map((name) => [`attributes.${name}`, name])]
  const isTaken = (value: string | undefined, at: number) =>
    value !== '' && columns.some((other, i) => i !== at && other === value)
  return (
    <thead>
      <tr>
        {headings.map((heading, at) => (
          <th key={at} scope="col">
            {heading}
            <select
              aria-label={t('Column {name} is', { name: heading })}
              value={columns[at]}
              disabled={disabled}
              onChange={({ currentTarget }) => onChange(columns.with(at, currentTarget.value))}
            >
              {options.map(([value, name]) => (
                <option key={value} value={value} disabled={isTaken(value, at)}>
                  {name}
                </option>
              ))}
            </select>
          </th>
        ))}
      </tr>
    </thead>
  )
}

/** `first` is the line of the file's first row, where the API counts from a header of one line. */
function Progress({ of, size, first }: { of: PeopleImport; size: number; first: number }) {
  const { rows, created, updated, repeated, refused, staysWithdrawn } = of.counts
  const hasErrors = refused + staysWithdrawn > 0
  return (
    <div role="status">
      <progress aria-label={t('Read of the file')} value={of.offset} max={Math.max(size, 1)} />
      <dl class="facts">
        <Fact term={t('Rows')}>{count(rows)}</Fact>
        <Fact term={t('Added')}>{count(created)}</Fact>
        <Fact term={t('Changed')}>{count(updated)}</Fact>
        {repeated > 0 && <Fact term={t('Repeated')}>{count(repeated)}</Fact>}
        {staysWithdrawn > 0 && <Fact term={t('Stays withdrawn')}>{count(staysWithdrawn)}</Fact>}
        <Fact term={t('Refused')}>{count(refused)}</Fact>
      </dl>
      {hasErrors && <Refused key={rows} of={of} after={of.format === 'csv' ? first - 2 : 0} />}
    </div>
  )
}

/** The problems of the first refused rows; all that are stored can be saved. */
function Refused({ of: { _id }, after }: { of: PeopleImport; after: number }) {
  const path = `/rest/people/imports/${_id}/errors`
  const { data } = useLoad(path, (signal) =>
    call<Page<RowError>>('GET', path, { query: { limit: SHOWN_ERRORS }, signal }),
  )
  const save = async () => {
    const rows = (await listAll<RowError>(path)).map(({ line, path, code, message }) => [
      ...[line + after, path, code, message],
    ])
    download('refused.csv', csvOf([['line', 'path', 'code', 'message'], ...rows]))
  }
  return (
    <>
      <ul>
        {data?.data.map(({ line, path, message }) => (
          <li key={`${line} ${path}`}>
            {t('Line {line}:', { line: line + after })} <code>{path}</code> {message}
          </li>
        ))}
      </ul>
      <Button onClick={save}>{t('Download what was refused')}</Button>
    </>
  )
}
