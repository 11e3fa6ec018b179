import { describe, expect, test } from '@jest/globals'
import { histogramLines } from '@parley/local/demo/histogram'
import { timeSpent } from '@parley/local/demo/time-spent'

describe('the histogram of the demo', () => {
  test('has a line for each bin from the first to the last with a value, and the longest bar where most are', () => {
    const lines = histogramLines([12, 13, 14, 15, 60, 300])
    expect(
      lines.map((line) =>
        line
          .replaceAll(/[█▏▎▍▌▋▊▉]/g, '')
          .trim()
          .split(/ {2,}/),
      ),
    ).toEqual([
      ['10 ms to 20 ms', '4'],
      ['20 ms to 50 ms', '0'],
      ['50 ms to 100 ms', '1'],
      ['100 ms to 200 ms', '0'],
      ['200 ms to 500 ms', '1'],
    ])
    const lengths = lines.map((line) => line.length)
    expect(Math.max(...lengths)).toBe(lengths[0])
    expect(lengths[0]).toBeLessThanOrEqual(80)
  })

  test('shows a single value among many, and nothing for none', () => {
    const [, one] = histogramLines([...Array(10_000).fill(12), 30])
    expect(one).toMatch(/▏$/)
    expect(histogramLines([])).toEqual([])
  })
})

describe('where the time of a thread went', () => {
  const attempt = (startedAt: number, endedAt: number, outcome: string) => ({ startedAt, endedAt, outcome })

  test('a message waits from when the one before it has been sent', () => {
    const first = { receivedAt: 0, sentAt: 110, attempts: [attempt(100, 110, 'accepted')] }
    const second = { receivedAt: 5, sentAt: 135, attempts: [attempt(130, 135, 'accepted')] }
    expect(timeSpent([first, second], undefined)).toEqual({
      ...{ queue: 120, provider: 15, retry: 0, uncertain: 0, takeOver: 0 },
    })
  })

  test('what follows a refused send is its retry, and what follows a lost response the uncertain window', () => {
    const refused = {
      ...{ receivedAt: 0, sentAt: 1_030 },
      attempts: [attempt(10, 20, 'retryable'), attempt(1_020, 1_030, 'accepted')],
    }
    const lost = { receivedAt: 0, sentAt: 3_000, attempts: [attempt(1_040, 1_050, 'uncertain')] }
    expect(timeSpent([refused, lost], undefined)).toEqual({
      ...{ queue: 20, provider: 30, retry: 1_000, uncertain: 1_950, takeOver: 0 },
    })
  })

  test('a wait across the kill of a dispatcher is the take-over, and one after it is not', () => {
    const across = { receivedAt: 0, sentAt: 900, attempts: [attempt(890, 900, 'accepted')] }
    const after = { receivedAt: 2_000, sentAt: 2_030, attempts: [attempt(2_020, 2_030, 'accepted')] }
    expect(timeSpent([across, after], { from: 100, to: 1_000 })).toMatchObject({ takeOver: 890, queue: 20 })
  })
})
