/**
 * Types of the AI SDK in signatures of `holdfast` itself. The package is optional: without it they are `any`, and projects that check the
 * types of their libraries still compile. Declarations keep these comments.
 */

/** @ts-ignore -- optional package */
export type LanguageModel = import('ai').LanguageModel

/** @ts-ignore -- optional package */
export type FlexibleSchema = import('ai').FlexibleSchema

/** @ts-ignore -- optional package */
export type ModelMessage = import('ai').ModelMessage

/** @ts-ignore -- optional package */
export type ToolSet = import('ai').ToolSet
