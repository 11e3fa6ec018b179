import { call, type Page } from '../api.ts'
import { Card, Empty, Failure, Loading } from '../components/basics.tsx'
import { type Finding, hrefOfFinding } from '../findings.ts'
import { count } from '../format.ts'
import { useLoad } from '../load.ts'
import { hrefOf } from '../router.ts'

const MOST_FINDINGS = 8

/** What `/rest/check` finds wrong with the configuration. */
export function Problems() {
  const { data, error } = useLoad(
    'check',
    (signal) => call<Page<Finding>>('GET', '/rest/check', { signal }),
    { everyMs: 15_000 },
  )
  const findings = data?.data ?? []
  return (
    <Card title="Configuration" note="What is wrong with it">
      {data === undefined && (error ? <Failure error={error} /> : <Loading />)}
      {data !== undefined && findings.length === 0 && <Empty title="Nothing is wrong" />}
      <ul class="rows">
        {findings.slice(0, MOST_FINDINGS).map((finding) => (
          <li key={`${finding.resource} ${finding._id} ${finding.path} ${finding.code}`}>
            <div class="grow">
              <p class="line">
                <a href={hrefOf(hrefOfFinding(finding))}>
                  {finding.resource} {finding._id}
                </a>
                <code>{finding.path}</code>
              </p>
              <p class="note">{finding.message}</p>
            </div>
          </li>
        ))}
      </ul>
      {findings.length > MOST_FINDINGS && <p class="note">{count(findings.length - MOST_FINDINGS)} more</p>}
    </Card>
  )
}
