/**
 * Schemas of inputs, outputs and answers: the Standard Schema interface (standardschema.dev), which zod, valibot, arktype and others
 * implement. It is declared here, so that no package is needed.
 */

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaProps<Input, Output>
}

/** The `~standard` property of a Standard Schema. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  readonly version: 1
  /** Name of the library. */
  readonly vendor: string
  readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
  /** Types only; absent at run time. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
  /** Standard JSON Schema, if the library supports it. */
  readonly jsonSchema?: JsonSchemaConverter
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** Why a value does not match a schema. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Converts a Standard Schema to JSON Schema, for its input and its output. */
export interface JsonSchemaConverter {
  readonly input: (options: JsonSchemaTarget) => Record<string, unknown>
  readonly output: (options: JsonSchemaTarget) => Record<string, unknown>
}

/** The requested version of JSON Schema. */
export interface JsonSchemaTarget {
  readonly target: 'draft-2020-12'
  readonly libraryOptions?: Record<string, unknown> | undefined
}

export type JsonSchema = Readonly<Record<string, unknown>>

/** A schema with an explicit JSON Schema, for libraries from which none can be derived. */
export interface DescribedSchema<Input = unknown, Output = Input> {
  readonly schema: StandardSchema<Input, Output>
  readonly jsonSchema: JsonSchema
}

/** `Input`: the values it accepts. `Output`: the values it returns. */
export type ValueSchema<Input = unknown, Output = Input> =
  | StandardSchema<Input, Output>
  | DescribedSchema<Input, Output>

/** A problem with a value, and its path: `items[2].name`, or '' for the value itself. */
export interface SchemaIssue {
  readonly path: string
  readonly message: string
}
