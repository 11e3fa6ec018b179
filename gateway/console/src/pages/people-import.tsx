import type { Schemas } from '@parley/client'
import { type ImportOptions, importPeople, type PeopleImport } from '@parley/client/import-people'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { listAll, parley } from '../api.ts'
import { Button, Dialog } from '../components/actions.tsx'
import { Fact, Failure } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { useSendKey, useSubmit } from '../components/submit.ts'
import { download } from '../download.ts'
import { count } from '../format.ts'
import { t } from '../language.ts'

const typeOf = (name: string): ImportOptions['contentType'] =>
  /\.(?:ndjson|jsonl)$/i.test(name) ? 'application/x-ndjson' : 'text/csv'

/** Imports a file of people: says how far it is, what became of its rows, and which of them were refused. */
export function ImportDialog({ onClose }: { onClose(): void }) {
  const id = useId()
  const [file, setFile] = useState<File>()
  const [tag, setTag] = useState('')
  const [ignoreColumns, setIgnoreColumns] = useState(false)
  const [found, setFound] = useState<PeopleImport>()
  const { keyOf } = useSendKey()
  const leaving = useRef(new AbortController())
  useEffect(() => () => leaving.current.abort(), [])
  const { busy, error, submit } = useSubmit(async () => {
    if (file === undefined) return
    const { name, size, lastModified } = file
    const options = { contentType: typeOf(name), tag, ignoreColumns, signal: leaving.current.signal }
    const key = keyOf({ name, size, lastModified, tag, ignoreColumns })
    for await (const one of importPeople(parley, file, { ...options, key })) setFound(one)
  })
  const isOver = found !== undefined && !busy && error === undefined
  return (
    <Dialog title={t('Import people')} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="field">
          <label for={id}>{t('File')}</label>
          <input
            id={id}
            type="file"
            accept=".csv,.ndjson,.jsonl,text/csv,application/x-ndjson"
            aria-describedby={`${id}-note`}
            disabled={busy}
            onChange={({ currentTarget }) => {
              setFile(currentTarget.files?.[0])
              setFound(undefined)
            }}
          />
          <p class="note" id={`${id}-note`}>
            {t(
              'CSV with a header (phone, name, language, tags, consent …), or a person as JSON on each line',
            )}
          </p>
        </div>
        <TextField
          label={t('Tags')}
          note={t('For all who are in it, between commas')}
          value={tag}
          onChange={setTag}
          required={false}
          disabled={busy}
        />
        <label>
          <input
            type="checkbox"
            checked={ignoreColumns}
            disabled={busy}
            onChange={({ currentTarget }) => setIgnoreColumns(currentTarget.checked)}
          />
          {t('Ignore columns that nobody knows')}
        </label>
        {found !== undefined && <Progress of={found} size={file?.size ?? 0} />}
        <Failure error={error} />
        <div class="actions end">
          {isOver ? (
            <Button kind="primary" onClick={onClose}>
              {t('Done')}
            </Button>
          ) : (
            <Button type="submit" kind="primary" disabled={busy || file === undefined}>
              {error !== undefined && found !== undefined ? t('Go on') : t('Import')}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  )
}

function Progress({ of, size }: { of: PeopleImport; size: number }) {
  const { rows, created, updated, repeated, refused, staysWithdrawn } = of.counts
  const save = async () =>
    download(`import-${of._id}.csv`, csvOf(await listAll<RowError>(`/rest/people/imports/${of._id}/errors`)))
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
      {refused > 0 && <Button onClick={save}>{t('Download what was refused')}</Button>}
    </div>
  )
}

type RowError = Schemas['ImportError']

/** With a header, a refused row on each line. */
const csvOf = (errors: readonly RowError[]): string =>
  [
    ['line', 'path', 'code', 'message'],
    ...errors.map(({ line, path, code, message }) => [line, path, code, message]),
  ]
    .map((row) => `${row.map((cell) => `"${String(cell).replaceAll('"', '""')}"`).join(',')}\r\n`)
    .join('')
