import { Card, Empty } from '../components/basics.tsx'
import { count } from '../format.ts'
import type { Traffic } from '../traffic.ts'

const MOST_SHOWN = 8
const NEARLY = 0.9

/** How much of its rate each number uses. */
export function NumberRates({ numbers }: Pick<Traffic, 'numbers'>) {
  return (
    <Card title="Rate of each number" note="Sends in the last full minute, of what it may send">
      {numbers.length === 0 && <Empty title="Nothing was sent in the last hour" />}
      <ul class="rows">
        {numbers.slice(0, MOST_SHOWN).map(({ number, channels, sends, busiest, limit }) => (
          <li key={number}>
            <div class="grow">
              <p class="line">
                <strong>{number}</strong>
                <span class="quiet">{channels.join(', ')}</span>
              </p>
              <meter
                min={0}
                max={limit}
                high={limit * NEARLY}
                value={sends}
                aria-label={`Rate that ${number} uses`}
              />
              <p class="note">
                {count(sends)} of {count(limit)}; {count(busiest)} in the busiest minute of the last hour
              </p>
            </div>
          </li>
        ))}
      </ul>
      {numbers.length > MOST_SHOWN && <p class="note">{count(numbers.length - MOST_SHOWN)} more</p>}
    </Card>
  )
}
