import type { ResourceDocument } from '../store/stored-document.ts'
import type { Batch, Finding } from './finding.ts'

/** Subscriptions that get nothing: deliveries are given up, too many wait, or they were turned off for it. */
export function checkSubscriptions({ documents }: Batch): Finding[] {
  return documents.flatMap(({ _id, failing, full, disabled }) => [
    ...finding(_id, 'failing_subscription', '/failing', failing),
    ...finding(_id, 'full_subscription', '/full', full),
    ...finding(_id, 'disabled_subscription', '/disabled', disabled),
  ])
}

function finding(
  _id: ResourceDocument['_id'],
  code: Finding['code'],
  path: string,
  mark: unknown,
): Finding[] {
  const { reason } = (mark ?? {}) as { reason?: string }
  if (reason === undefined) return []
  return [{ code, resource: 'subscriptions', _id, path, message: reason }]
}
