import fc from 'fast-check'

/** Texts whose order differs between UTF-16 units and code points, and that hold pattern characters. */
const CODE_POINT_TEXTS = ['\u{1f600}', '\ufb00', '\u{1f600}b', '\ud7ff']
const TEXTS = ['', 'a', 'b', 'ab', 'ba', 'a.b', '^a', '$a', 'é', 'A', '(', '\\', 'a\nb']
const NUMBERS = [-1, 0, 1, 2, 7, 1.5, -2.5, 2 ** 53]

/** MongoDB's driver makes documents with Object.prototype. */
const PLAIN = { requiredKeys: [], noNullPrototype: true } satisfies fc.RecordConstraints<never>

/**
 * What mingo gets wrong and MongoDB right: arrays in arrays (mingo flattens them), names that
 * Object.prototype has too, and the order of code points beyond U+FFFF.
 */
type Choice = {
  readonly beyondMingo: boolean
  /** Also with keys that a document has only where a service escapes them, at any depth. */
  readonly escaped?: boolean
}

/** The caller whom the random expressions are decided for. */
export const ACCOUNT = {
  _id: 2,
  username: 'a',
  name: 'ab',
  workspace: { _id: 7, namespace: 'b' },
  role: { _id: 1, name: 'MEMBER' },
  context: { teams: ['a', 2, null, 'é'], nothing: null, empty: [], flag: true, deep: { list: [7] } },
}

const scalar = (texts: readonly string[]) =>
  fc.oneof(fc.constantFrom(...texts), fc.constantFrom(...NUMBERS), fc.boolean(), fc.constant(null))

/** Documents of few keys and few values, so that paths meet values and comparisons hold often. */
export function documents({ beyondMingo, escaped }: Choice): fc.Arbitrary<Record<string, unknown>> {
  const simple = scalar(beyondMingo ? [...TEXTS, ...CODE_POINT_TEXTS] : TEXTS)
  const list = fc.array(beyondMingo ? fc.oneof(simple, fc.array(simple, { maxLength: 2 })) : simple, {
    maxLength: 4,
  })
  const inner = fc.record({ x: fc.oneof(simple, list), y: simple }, PLAIN)
  const odd = fc.constantFrom(
    new Date(0),
    new Date(7),
    {},
    [],
    [{ x: 1 }],
    ...(beyondMingo ? [[[7]], [[]]] : []),
  )
  const value = fc.oneof(
    { weight: 5, arbitrary: simple },
    { weight: 2, arbitrary: list },
    { weight: 1, arbitrary: fc.oneof(odd, inner, fc.array(inner, { maxLength: 3 })) },
  )
  const marks: Record<string, typeof value> = escaped ? { constructor: value, _bsontype: value } : {}
  const nested = fc.oneof(
    { weight: 4, arbitrary: fc.record({ x: value, y: value, z: inner, ...marks }, PLAIN) },
    { weight: 1, arbitrary: fc.oneof(simple, fc.array(inner, { maxLength: 3 })) },
  )
  const names: Record<string, typeof value> = beyondMingo ? { constructor: value, hasOwnProperty: value } : {}
  const fields: Record<string, fc.Arbitrary<unknown>> = {
    a: value,
    b: value,
    c: simple,
    tags: list,
    n: nested,
  }
  return fc.record({ ...fields, ...names, ...marks }, PLAIN)
}

/** Sources of the whole language over those documents, the account and a resource. */
export function sources({ beyondMingo, escaped }: Choice): fc.Arbitrary<string> {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&').replace('\n', '\\n')}'`
  const literal = scalar(beyondMingo ? [...TEXTS, ...CODE_POINT_TEXTS] : TEXTS).map((value) =>
    typeof value === 'string' ? quoted(value) : String(value),
  )
  const inherited = beyondMingo ? ['doc.constructor', 'doc.hasOwnProperty', 'doc.toString'] : []
  const marks = escaped ? ['_bsontype', 'n.constructor', 'n._bsontype', 'n.constructor.x'] : []
  const docPath = fc
    .constantFrom(
      ...['a', 'b', 'c', 'tags', 'n', 'n.x', 'n.y', 'n.x.y', 'n.z.x', 'tags.x', 'none', 'none.x', ...marks],
    )
    .map((path) => `doc.${path}`)
  const path = fc
    .oneof(
      { weight: 6, arbitrary: docPath },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          ...['resource', 'account._id', 'account.workspace._id', 'account.context.teams'],
          ...['account.context.empty', 'account.context.nothing', 'account.context.deep.list'],
          ...['account.none', 'account.workspace', 'doc', 'account.username', ...inherited],
        ),
      },
    )
    .map((text) => `{{${text}}}`)
  return fc.letrec<{ value: string; test: string; any: string }>((tie) => ({
    any: fc.oneof({ depthSize: 'small', withCrossShrink: true }, path, literal, tie('value'), tie('test')),
    value: fc.oneof(
      { weight: 6, arbitrary: path },
      { weight: 5, arbitrary: literal },
      { weight: 2, arbitrary: fc.array(literal, { maxLength: 4 }).map((items) => `[${items}]`) },
      { weight: 1, arbitrary: fc.array(tie('any'), { maxLength: 3 }).map((items) => `[${items}]`) },
      { weight: 1, arbitrary: fc.tuple(tie('value'), tie('value')).map(([t, a]) => `(${t}).indexOf(${a})`) },
    ),
    test: fc.oneof(
      { depthSize: 'medium' },
      fc.tuple(path, comparison, literal).map(([l, o, r]) => `${l} ${o} ${r}`),
      fc.tuple(tie('value'), comparison, tie('value')).map(([l, o, r]) => `${l} ${o} ${r}`),
      fc
        .tuple(tie('value'), tie('value'), found)
        .map(([target, item, question]) => `(${target}).indexOf(${item}) ${question}`),
      fc
        .tuple(tie('value'), fc.constantFrom('includes', 'startsWith'), tie('value'))
        .map(([target, method, item]) => `(${target}).${method}(${item})`),
      fc.tuple(tie('value'), tie('value')).map(([item, list]) => `${item} in ${list}`),
      tie('any').map((item) => `!(${item})`),
      fc.tuple(tie('any'), logic, tie('any')).map(([l, o, r]) => `(${l} ${o} ${r})`),
      fc.tuple(tie('test'), logic, tie('test'), logic, tie('test')).map((parts) => `(${parts.join(' ')})`),
    ),
  })).any
}

const comparison = fc.constantFrom('==', '===', '!=', '!==', '<', '<=', '>', '>=')
const logic = fc.constantFrom('&&', '||')
const found = fc.constantFrom('< 0', '>= 0', '== -1', '!= -1', '> -1', '<= -1', '> 0', '== 1', '< 2')
