import { Card, Empty } from '../components/basics.tsx'
import { t } from '../language.ts'
import { readSpec } from '../setup/spec-operations.ts'

/** The operations of an action's OpenAPI document, as an assistant may call them. */
export function Operations({ document: { specType, spec } }: { document: Record<string, unknown> }) {
  if (specType !== undefined && specType !== 'openapi3-yaml') return null
  const { operations, problem } = readSpec(String(spec ?? ''))
  return (
    <Card title={t('Operations')} note={t('What an assistant may call, by operationId')}>
      {problem && <p class="field-error">{problem}</p>}
      {!problem && operations.length === 0 && (
        <Empty title={t('The document has no operation with an operationId')} />
      )}
      <ul class="rows">
        {operations.map(({ id, method, path, summary }) => (
          <li key={id}>
            <div class="grow">
              <p class="line">
                <strong>{id}</strong>
                <code>
                  {method.toUpperCase()} {path}
                </code>
              </p>
              {summary && <p class="note">{summary}</p>}
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
