import { ForeignDocumentError, readForeignDocument } from '@parley/shared/foreign-document'
import { Card, Empty } from '../components/basics.tsx'
import { t } from '../language.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace']

interface Operation {
  id: string
  method: string
  path: string
  summary: string
}

/** The operations of an action's OpenAPI document, as an assistant may call them. */
export function Operations({ document: { specType, spec } }: { document: Record<string, unknown> }) {
  if (specType !== undefined && specType !== 'openapi3-yaml') return null
  const { operations, problem } = operationsOf(String(spec ?? ''))
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

/** Reads what has an `operationId`; says what is wrong with a document that can't be read. */
function operationsOf(spec: string): { operations: Operation[]; problem?: string } {
  try {
    const { paths } = (readForeignDocument(spec) ?? {}) as { paths?: Record<string, Record<string, unknown>> }
    const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item ?? {}).flatMap(([method, value]) => {
        const { operationId, summary, description } = (value ?? {}) as Record<string, unknown>
        if (!METHODS.includes(method) || typeof operationId !== 'string') return []
        return [{ id: operationId, method, path, summary: String(summary ?? description ?? '') }]
      }),
    )
    return { operations }
  } catch (error) {
    const reason =
      error instanceof ForeignDocumentError
        ? (error.syntax ?? t('it {message}', { message: error.message }))
        : String(error)
    return { operations: [], problem: t('It can’t be read: {reason}', { reason }) }
  }
}
