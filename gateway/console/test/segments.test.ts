import { expect, test } from '@jest/globals'
import { missingIn, type SegmentFilter } from '../src/segments.ts'

test.each<[string, SegmentFilter, string]>([
  ['a tag', { all: [{ tag: ' ' }] }, 'All of these, condition 1: the tag is missing.'],
  ['a language', { any: [{ language: '' }] }, 'One of these, condition 1: the language is missing.'],
  ['a time zone', { none: [{ timeZone: '' }] }, 'None of these, condition 1: the time zone is missing.'],
  [
    'days',
    { all: [{ tag: 'vip' }, { contactedInDays: 0 }] },
    'All of these, condition 2: the days are missing, from 1 to 3,650.',
  ],
  [
    'an attribute',
    { all: [{ attribute: '', in: [] }] },
    'All of these, condition 1: the attribute is missing.',
  ],
  ['values', { all: [{ attribute: 'city', in: [] }] }, 'All of these, condition 1: its values are missing.'],
  [
    'a range',
    { all: [{ attribute: 'city', from: '' }] },
    'All of these, condition 1: from or below is missing.',
  ],
])('a condition without %s is named, and is not counted', (_what, filter, missing) => {
  expect(missingIn(filter)).toBe(missing)
})

test.each<SegmentFilter>([
  {},
  { all: [{ tag: 'vip' }], none: [{ consent: 'marketing', is: 'granted' }] },
  {
    any: [
      { attribute: 'size', from: 0 },
      { attribute: 'isOpen', exists: false },
    ],
  },
  { all: [{ contactedInDays: 3_650 }, { lastContact: 'never' }, { attribute: 'isOpen', in: [false] }] },
])('a filter that says all is counted: %j', (filter) => {
  expect(missingIn(filter)).toBeUndefined()
})
