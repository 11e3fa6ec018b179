import { Problem } from '@parley/shared/problem'
import { mapSecrets } from '@parley/shared/sealed-value'

// To seal or to open one takes some 60 microseconds.
const MAX_IN_DOCUMENT = 200
const MAX_IN_IMPORT = 2_000

/** Throws `validation_failed` for a document with more than 200 secrets. */
export function requireFewSecrets(fields: object): void {
  requireAtMost(MAX_IN_DOCUMENT, fields, 'document')
}

/** Throws `validation_failed` for an import with more than 2,000 secrets. */
export function requireFewSecretsInImport(resources: object): void {
  requireAtMost(MAX_IN_IMPORT, resources, 'import')
}

function requireAtMost(most: number, value: object, where: string): void {
  let count = 0
  mapSecrets(value, (leaf) => {
    count++
    return leaf
  })
  if (count <= most) return
  const message = `at most ${most} secrets are taken in one ${where}, and there are ${count}`
  throw new Problem('validation_failed', { errors: [{ path: '', code: 'too_many_secrets', message }] })
}
