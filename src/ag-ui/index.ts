/** `holdfast/ag-ui`: AG-UI's HTTP agent with Holdfast's additions. Needs the package `@ag-ui/client`. */
export { HoldfastAgent } from './holdfast-agent.ts'
