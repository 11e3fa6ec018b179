/** The keywords of JSON Schema 2020-12 under which schemas stand: one, a list of them, one for each name. */
export const SCHEMAS = [
  ...['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]
export const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
export const MAPS = ['properties', 'patternProperties', 'dependentSchemas']
